#include "query/language/library.h"

#include "absl/container/flat_hash_map.h"

namespace tickstack::query {
namespace {

// Functions written in q from their descriptions in the public reference (code.kx.com/q/ref/dotq,
// doth, dotj). Those that need more than q are built in (builtins_*.cc).
constexpr LibraryEntry kLibrary[] = {
    // Alphabets, and the letters of types by their numbers.
    {".Q.A", R"("ABCDEFGHIJKLMNOPQRSTUVWXYZ")"},
    {".Q.a", R"("abcdefghijklmnopqrstuvwxyz")"},
    {".Q.n", R"("0123456789")"},
    {".Q.nA", R"(.Q.n,.Q.A)"},
    {".Q.an", R"(.Q.a,.Q.A,"_",.Q.n)"},
    {".Q.b6", R"(.Q.A,.Q.a,.Q.n,"+/")"},
    {".Q.t", R"(" bg xhijefcspmdznuvts")"},
    // Words of q that need no kernel.
    {"csv", R"(",")"},
    {"fkeys", R"({$[.Q.qt $[-11h=type x;value x;x];(0#`)!0#`;'`type]})"},
    {"hsym", R"({f:{$[":"=first string x;x;`$":",string x]};$[-11h=type x;f x;f each x]})"},
    // Kinds of tables.
    {".Q.qt", R"({$[99h=type x;(98h=type key x)&98h=type value x;98h=type x]})"},
    {".Q.v", R"({$[-11h=type x;value x;x]})"},
    {".Q.V", R"({flip $[-11h=type x;value x;x]})"},
    {".Q.ft", R"({$[99h=type y;(count keys y)!x 0!y;x y]})"},
    {".Q.ind", R"({x y})"},
    {".Q.nct", R"({f:{m:0!meta x;([]n:count[m]#x;c:m`c;t:m`t)};)"
               R"($[null x;(,/)[([]n:`$();c:`$();t:"");f each tables`.];f x]})"},
    {".Q.ff", R"({c:(cols y)except cols x;$[count c;x,'(c#y)count[x]#0N;x]})"},
    {".Q.ty", R"({t:abs type x;$[t within 1 19;.Q.t t;0=count x;" ";
      1<count distinct type each x;" ";
      (type first x)within 1 19;upper .Q.t type first x;" "]})"},
    // Applying.
    {".Q.fc", R"({x y})"},
    {".Q.fu", R"({u:distinct y;(x u)u?y})"},
    // Functions of names.
    {".Q.dd", R"({` sv x,`$string y})"},
    {".Q.id", R"({f:{s:string x;t:s where s in .Q.an;
      t:$[0=count t;"a";(first t)in .Q.n,"_";"a",t;t];`$t};
      g:{[f;c]s:f each c;
      s:`$(string s),'?[s in .Q.res,key`.q;count[s]#enlist enlist"1";count[s]#enlist""];
      r:@[count[s]#0;raze value d;:;raze til each count each value d:group s];
      `$(string s),'?[r=0;count[s]#enlist"";string r]}[f];
      $[-11h=type x;f x;98h=type x;(g cols x)xcol x;
      .Q.qt x;(count keys x)!(g cols x)xcol 0!x;
      99h=type x;(g key x)!value x;'`type]})"},
    // Numbers as text, with 64 or 36 letters.
    {".Q.j10", R"({64 sv .Q.b6?x})"},
    {".Q.x10", R"({.Q.b6(10#64)vs x})"},
    {".Q.j12", R"({36 sv .Q.nA?x})"},
    {".Q.x12", R"({.Q.nA(12#36)vs x})"},
    {".Q.f", R"({$[null y;"";(abs y)<1e-300;.Q.f0[x;0f];.Q.f0[x;y]]})"},
    {".Q.f0", R"({p:prd x#10f;n:`long$p*abs y;s:string n;s:((0|1+x-count s)#"0"),s;
      ($[y<0;"-";""]),$[x>0;(neg[x]_s),".",neg[x]#s;s]})"},
    {".Q.fmt", R"({r:.Q.f[y;z];$[x<count r;x#"*";neg[x]$r]})"},
    {".Q.addmonths", R"({m:y+`month$x;(`date$m)+x-`date$`month$x})"},
    // Command lines.
    {".Q.opt", R"({b:x like"-[a-zA-Z]*";w:where b;k:`$1_'x w;
      k!{$[1=count x;first x;x]}each 1_'w _x})"},
    {".Q.def", R"({[d;o]k:(key d)inter key o;d,k!{$[10h=abs type y;$[-11h=type x;`$y;10h=type x;y;
      (upper .Q.t abs type x)$y];x]}'[d k;o k]})"},
    {".Q.x", R"(())"},
    // Versions.
    {".Q.K", R"(.z.k)"},
    {".Q.k", R"(.z.K)"},
    {".Q.s2", R"({-1_"\n"vs .Q.s x})"},
    {".Q.w", R"({`used`heap`peak`wmax`mmap`mphy`syms`symw!(system"w"),0N 0N})"},
    {".Q.gc", R"({0})"},
    {".Q.res",
     R"(`abs`acos`asin`atan`avg`bin`binr`cor`cos`cov`delete`dev`div`do`enlist`exec`exit`exp`from`getenv`hopen`if`in`insert`last`like`log`max`min`prd`select`setenv`sin`sqrt`ss`sum`tan`update`var`wavg`while`within`wsum`xexp)"},
    // Addresses that need no look-up.
    {".Q.addr", R"({$[`localhost=x;2130706433i;null r:"I"$string x;'"nyi: .Q.addr";r]})"},
    {".Q.host", R"({$[2130706433i=x;`localhost;'"nyi: .Q.host"]})"},
    {".Q.sbt", R"({raze{[f]"  [",(string f 3),"]  ",(f[1]3),"\n"}each x})"},
    {".Q.trp", R"({[f;x;g]@[f;x;{[f;g;e]g[e;.Q.bt f]}[f;g]]})"},
    {".Q.trpd", R"({[f;x;g].[f;x;{[f;g;e]g[e;.Q.bt f]}[f;g]]})"},
    // Text for browsers.
    {".h.d", R"(" ")"},
    {".h.c0", R"(`024C7E)"},
    {".h.c1", R"(`958600)"},
    {".h.sa", R"("a{text-decoration:none}a:link{color:024C7E}a:visited{color:024C7E}",
      "a:active{color:958600}")"},
    {".h.sb", R"("body{font:10pt verdana;text-align:justify}")"},
    {".h.br", R"("<br>")"},
    {".h.hr", R"({count[x]#"-"})"},
    {".h.hc", R"({ssr[x;"<";"&lt;"]})"},
    {".h.xs", R"({ssr[;">";"&gt;"]ssr[;"<";"&lt;"]ssr[x;"&";"&amp;"]})"},
    {".h.htc", R"({"<",(string x),">",y,"</",(string x),">"})"},
    {".h.hta", R"({"<",(string x),(raze{" ",(string x),"=\"",y,"\""}'[key y;value y]),">"})"},
    {".h.htac", R"({.h.hta[x;y],z,"</",(string x),">"})"},
    {".h.ha", R"({"<a href=",($[10h=type x;"\"",x,"\"";string x]),">",y,"</a>"})"},
    {".h.hb", R"({"<a target=v href=",($[10h=type x;"\"",x,"\"";string x]),">",y,"</a>"})"},
    {".h.nbr", R"({.h.htc[`nobr;x]})"},
    {".h.code", R"({t:"\t"vs x;" "sv@[t;where(til count t)mod 2;{.h.htc[`code;.h.nbr x]}]})"},
    {".h.pre", R"({.h.htc[`pre;raze x,\:"\n"]})"},
    {".h.xmp", R"({.h.htc[`xmp;raze x,\:"\n"]})"},
    {".h.text", R"({raze{.h.htc[`p;x],"\n"}each x})"},
    {".h.html",
     R"({"<html><head><style>",.h.sa,.h.sb,"</style></head><body>",x,"</body></html>"})"},
    {".h.sc", R"("$-.+!*'(),",.Q.an)"},
    {".h.hu", R"({raze{$[x in .h.sc;enlist x;"%",string"x"$x]}each x})"},
    {".h.uh", R"({i:x ss"%[0-9a-fA-F][0-9a-fA-F]";if[0=count i;:x];p:(0,i)_x;
      (first p),raze{("c"$"X"$x 1 2),3_x}each 1_p})"},
    {".h.val", R"(value)"},
    // Responses to browsers.
    {".h.ty", R"(`htm`html`csv`txt`xml`xls`gif`json!("text/html";"text/html";
      "text/comma-separated-values";"text/plain";"text/plain";"application/msexcel";"image/gif";
      "application/json"))"},
    {".h.hn", R"({[s;t;b]b:$[4h=type b;"c"$b;b];
      "HTTP/1.1 ",s,"\r\nContent-Type: ",
      ($[(`$string t)in key .h.ty;.h.ty`$string t;"application/octet-stream"]),
      "\r\nConnection: close\r\nContent-Length: ",(string count b),"\r\n\r\n",b})"},
    {".h.hy", R"({[t;b].h.hn["200 OK";t;b]})"},
    {".h.hp", R"({.h.hy[`htm]"<html><head><style>",.h.sb,"</style></head><body>",(.h.pre x),
      "</body></html>"})"},
    {".h.he", R"({.h.hn["400 Bad Request";`txt;"'",.h.hc x]})"},
    {".h.iso8601", R"({s:string`timestamp$x;@[s;4 7 10;:;"--T"]})"},
    // Tables as text.
    {".h.cd", R"({q:{$[10h=abs type x;(),x;0h>type x;string x;.h.d sv string x]};
      e:{$[any x in"\",\n";"\"",(ssr[x;"\"";"\"\""]),"\"";x]};
      h:$[.Q.qt x;enlist","sv string cols x;()];
      h,{","sv x}each flip{[q;e;c]e each q each c}[q;e]each $[.Q.qt x;value flip 0!x;x]})"},
    {".h.td", R"({t:0!x;q:{$[10h=abs type x;(),x;string x]};
      (enlist"\t"sv string cols t),{"\t"sv x}each flip{[q;c]q each c}[q]each value flip t})"},
    {".h.xd", R"({t:0!x;n:string cols t;q:{.h.xs $[10h=abs type x;(),x;string x]};
      (enlist"<R>"),({[n;r]"<r>",(raze n{.h.htc[`$x;y]}'r),"</r>"}[n]each flip{[q;c]q each c}[q]each
      value flip t),enlist"</R>"})"},
    {".h.tx", R"(`raw`json`csv`txt`xml`xls!(enlist;{.j.j each $[.Q.qt x;0!x;x]};.h.cd;.h.td;.h.xd;
      {'"nyi: .h.ed"}))"},
    {".h.xt", R"({$[x~`json;.j.k each y;'"nyi: .h.xt"]})"},
};

}  // namespace

std::span<const LibraryEntry> Library() { return kLibrary; }

const LibraryEntry* FindInLibrary(std::string_view name) {
  static const auto* const kByName = [] {
    auto* const by_name = new absl::flat_hash_map<std::string_view, const LibraryEntry*>;
    for (const LibraryEntry& entry : kLibrary) by_name->emplace(entry.name, &entry);
    return by_name;
  }();
  const auto found = kByName->find(name);
  return found == kByName->end() ? nullptr : found->second;
}

}  // namespace tickstack::query
