"""Files of NYSE Daily TAQ independently of the feed: slow, exact decimals, standard library only.

`rows(text, kind, date)` gives the rows that docs/feeds/taq.md promises, as {table: [{column: value}]}; columns that a
record does not fill are absent. `random_file` makes the text of a delimited file, `random_fixed` of one of fixed width.
"""

import collections
import datetime
import decimal
import random
import zoneinfo

TRADE = ("Time|Exchange|Symbol|Sale Condition|Trade Volume|Trade Price|Trade Stop Stock Indicator|Trade Correction Indicator|"
         "Sequence Number|Trade Id|Source of Trade|Trade Reporting Facility|Participant Timestamp|"
         "Trade Reporting Facility TRF Timestamp|Trade Through Exempt Indicator").split("|")
QUOTE = ("Time|Exchange|Symbol|Bid_Price|Bid_Size|Offer_Price|Offer_Size|Quote_Condition|Sequence_Number|National_BBO_Ind|"
         "FINRA_BBO_Indicator|FINRA_ADF_MPID_Indicator|Quote_Cancel_Correction|Source_Of_Quote|Retail_Interest_Indicator|"
         "Short_Sale_Restriction_Indicator|LULD_BBO_Indicator|SIP_Generated_Message_Identifier|National_BBO_LULD_Indicator|"
         "Participant_Timestamp|FINRA_ADF_Timestamp|FINRA_ADF_Market_Participant_Quote_Indicator|"
         "Security_Status_Indicator").split("|")
NBBO = QUOTE[:14] + ("Best_Bid_Quote_Condition|Best_Bid_Exchange|Best_Bid_Price|Best_Bid_Size|Best_Bid_FINRA_Market_Maker_ID|"
                     "Best_Offer_Quote_Condition|Best_Offer_Exchange|Best_Offer_Price|Best_Offer_Size|"
                     "Best_Offer_FINRA_Market_Maker_ID|LULD_Indicator|LULD_NBBO_Indicator|SIP_Generated_Message_Identifier|"
                     "Participant_Timestamp|FINRA_ADF_Timestamp|Security_Status_Indicator").split("|")
COLUMNS = {"trade": TRADE, "quote": QUOTE, "nbbo": NBBO}
# Of fixed width: (name, characters) in their order; those behind them are not needed.
FIXED_QUOTE = [("Time", 9), ("Exchange", 1), ("Symbol", 16), ("Bid_Price", 11), ("Bid_Size", 7), ("Offer_Price", 11),
               ("Offer_Size", 7), ("Quote_Condition", 1), ("Maker", 4), ("Bid_Exchange", 1), ("Ask_Exchange", 1),
               ("Sequence_Number", 16), ("National_BBO_Ind", 1), ("Nasdaq", 1), ("Quote_Cancel_Correction", 1),
               ("Source_Of_Quote", 1)]
FIXED = {
    "quote": FIXED_QUOTE,
    "trade": [("Time", 9), ("Exchange", 1), ("Symbol", 16), ("Sale Condition", 4), ("Trade Volume", 9), ("Trade Price", 11),
              ("Stop", 1), ("Trade Correction Indicator", 2), ("Sequence Number", 16), ("Source of Trade", 1), ("TRF", 1)],
    "nbbo": FIXED_QUOTE + [("Best_Bid_Quote_Condition", 1)] + [
        (f"Best_{side}_{name}", characters) for side in ("Bid", "Offer") for name, characters in
        (("Exchange", 1), ("Price", 11), ("Size", 7), ("Maker", 4), ("Location", 2), ("Desk", 1))],
}


def _midnight_ns(date):
    day = datetime.datetime.strptime(date, "%Y.%m.%d").replace(tzinfo=zoneinfo.ZoneInfo("America/New_York"))
    return (int(day.timestamp()) - 946_684_800) * 10**9


def _of_day_ns(text):
    return ((int(text[:2]) * 60 + int(text[2:4])) * 60 + int(text[4:6])) * 10**9 + int(text[6:].ljust(9, "0"))


def records(text, kind, digits):
    """Yields the fields of each record, and whether prices have no point."""
    lines = text.replace("\r\n", "\n").split("\n")
    if "|" in lines[0]:
        header = lines[0].split("|")
        for line in lines[1:]:
            if line and not line.startswith("END|"):
                yield dict(zip(header, line.split("|"), strict=True)), False
        return
    for line in lines[1:]:
        if line:
            fields, at = {}, 0
            for name, characters in [("Time", digits), *FIXED[kind][1:]]:
                fields[name] = line[at:at + characters]
                at += characters
            yield fields, True


def rows(text, kind, date, digits=9):
    """`digits`: those of the time in records of fixed width."""
    tables = collections.defaultdict(list)
    midnight = _midnight_ns(date)
    for fields, is_fixed in records(text, kind, digits):
        def price(name, fields=fields, is_fixed=is_fixed):
            if not fields[name]:
                return None
            return float(decimal.Decimal(fields[name]) / (10_000 if is_fixed else 1))

        def number(name, fields=fields):
            return int(fields[name]) if fields[name] else None

        received = midnight + _of_day_ns(fields["Time"])
        participant = fields.get("Participant_Timestamp", fields.get("Participant Timestamp", ""))
        row = {"time": midnight + _of_day_ns(participant) if participant else received, "recv": received,
               "sym": ".".join(fields["Symbol"].split()), "venue": fields["Exchange"].strip()}
        if kind == "trade":
            _add_trade(tables, {**row, "seq": int(fields["Sequence Number"]), "channel": fields["Source of Trade"].strip(),
                                "price": price("Trade Price")}, fields)
            continue
        row |= {"seq": int(fields["Sequence_Number"]), "channel": fields["Source_Of_Quote"].strip()}
        best = "Best_" if kind == "nbbo" else ""
        if best:
            row |= {"venue": "", "bid_venue": fields["Best_Bid_Exchange"].strip(),
                    "ask_venue": fields["Best_Offer_Exchange"].strip()}
        condition = fields.get("Quote_Condition") if not best else (
            fields["Best_Bid_Quote_Condition"] + fields.get("Best_Offer_Quote_Condition", ""))
        row["cond"] = (condition + fields["Quote_Cancel_Correction"].replace("A", "")).strip()
        tables["quote"].append({**row, "bid": price(best + "Bid_Price") or None, "ask": price(best + "Offer_Price") or None,
                                "bsize": number(best + "Bid_Size"), "asize": number(best + "Offer_Size")})
    return dict(tables)


def _add_trade(tables, row, fields):
    volume = fields["Trade Volume"].strip()
    row["size"] = float(volume) if "." in volume else int(volume)
    if fields.get("Trade Id", "").strip():
        number = int(fields["Trade Id"])
        row["id"] = number - (1 << 64) if number >= 1 << 63 else number
    correction = fields["Trade Correction Indicator"]
    if correction in ("00", "01", "07", "08"):
        tables["trade"].append({**row, "cond": fields["Sale Condition"].rstrip()})
    elif correction in ("10", "11"):
        tables["trade_break"].append({**row, "cond": correction})


def _random_fields(kind, rng, ns, digits):
    def clock(of_day_ns):
        seconds, fraction = divmod(of_day_ns, 10**9)
        return f"{seconds // 3600:02}{seconds // 60 % 60:02}{seconds % 60:02}{fraction:09}"[:digits]

    symbol = rng.choice(("A", "BRK B", "IBM", "ABC PRA", "ZVZZT"))
    fields = {"Time": clock(ns), "Exchange": rng.choice("ABNPQTZ"), "Symbol": symbol,
              "Participant_Timestamp": clock(ns - rng.randrange(10**6)) if rng.random() < 0.9 else ""}
    fields |= {"Participant Timestamp": fields["Participant_Timestamp"], "Sequence Number": str(rng.randrange(10**9)),
               "Sale Condition": rng.choice(("@   ", "@  I", " O  ", " 4 B", "@F I", "@")),
               "Trade Volume": str(rng.randrange(1, 10**6)), "Trade Price": _price(rng),
               "Trade Correction Indicator": rng.choice(("00",) * 10 + ("01", "07", "08", "10", "11", "12")),
               "Trade Id": rng.choice(("", str(rng.getrandbits(64)), str(rng.randrange(10**6)))),
               "Source of Trade": rng.choice("CN"), "Source_Of_Quote": rng.choice("CN"),
               "Quote_Condition": rng.choice("RRRYH "), "Quote_Cancel_Correction": rng.choice("AAAABC"),
               "Best_Bid_Quote_Condition": rng.choice("RY "), "Best_Offer_Quote_Condition": rng.choice("RY"),
               "Best_Bid_Exchange": rng.choice("NPQ "), "Best_Offer_Exchange": rng.choice("NPQ")}
    fields["Sequence_Number"] = fields["Sequence Number"]
    for name in ("Bid", "Offer", "Best_Bid", "Best_Offer"):
        fields[name + "_Price"] = _price(rng) if rng.random() < 0.9 else "0"
        fields[name + "_Size"] = str(rng.randrange(1, 500)) if fields[name + "_Price"] != "0" else "0"
    return fields


def _price(rng):
    return f"{rng.randrange(1, 10**7) / 10**rng.choice((2, 4)):.4f}".rstrip("0").rstrip(".")


def random_file(kind, count, seed, date, fractions=False):
    rng = random.Random(seed)
    lines, ns = ["|".join(COLUMNS[kind])], 34_200 * 10**9
    for _ in range(count):
        ns += rng.randrange(10**5)
        fields = _random_fields(kind, rng, ns, 15)
        if fractions and rng.random() < 0.5:
            fields["Trade Volume"] = f"{rng.randrange(10**8) / 10**6:.6f}"
        lines.append("|".join(fields.get(name, "") for name in COLUMNS[kind]))
    lines.append(f"END|{date.replace('.', '')}|{count}" + "|" * (len(COLUMNS[kind]) - 3))
    return "\n".join(lines) + "\n"


def random_fixed(kind, count, seed, date, digits=9):
    rng = random.Random(seed)
    year, month, day = date.split(".")
    lines, ns = [f" N{month}{day}{year} Record Count : {count:>7}".ljust(96)], 34_200 * 10**9
    for _ in range(count):
        ns += rng.randrange(10**7)
        fields = _random_fields(kind, rng, ns, digits)
        root, _, suffix = fields["Symbol"].partition(" ")
        fields["Symbol"] = root.ljust(6) + suffix
        line = ""
        for name, characters in FIXED[kind]:
            value = fields.get(name, "")
            if name.endswith("Price"):
                value = str(int(decimal.Decimal(value) * 10_000)).zfill(characters)
            elif name.endswith(("Size", "Volume")) or name in ("Sequence Number", "Sequence_Number"):
                value = value.zfill(characters)
            line += value if name == "Time" else value.ljust(characters)
        lines.append(line)
    return "\r\n".join(lines) + "\r\n"
