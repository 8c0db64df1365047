import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Array;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Time;
import java.sql.Timestamp;

/**
 * The JDBC client of jdbc_client_test.py. Connects to the URL in its argument. Each input line is a
 * request, its fields separated by tabs; each output line is the answer as JSON. An error's answer
 * is {"error": message}.
 */
public class JdbcClient {
  public static void main(String[] arguments) throws Exception {
    Class.forName("com.kx.jdbc");
    BufferedReader requests =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream answers = new PrintStream(System.out, true, "UTF-8");
    try (Connection connection = DriverManager.getConnection(arguments[0], "ann", "word")) {
      for (String line = requests.readLine(); line != null; line = requests.readLine()) {
        answers.println(answerOrError(connection, line.split("\t", -1)));
      }
    }
  }

  private static String answerOrError(Connection connection, String[] fields) {
    try {
      return answer(connection, fields);
    } catch (SQLException error) {
      return "{\"error\":" + json(String.valueOf(error.getMessage())) + "}";
    }
  }

  private static String answer(Connection connection, String[] fields) throws SQLException {
    DatabaseMetaData database = connection.getMetaData();
    switch (fields[0]) {
      case "valid":
        return json(connection.isValid(5));
      case "product":
        return json(database.getDatabaseProductName());
      case "catalogs":
        return rows(database.getCatalogs());
      case "schemas":
        return rows(database.getSchemas());
      case "tableTypes":
        return rows(database.getTableTypes());
      case "types":
        return rows(database.getTypeInfo());
      case "tables": // KIND,KIND; none: null, as a tool passes that wants all kinds
        return rows(database.getTables(
            null, null, "%", fields.length < 2 ? null : fields[1].split(",")));
      case "columns": // TABLE or %
        return rows(database.getColumns(null, null, fields[1], "%"));
      case "primaryKeys": // TABLE
        return rows(database.getPrimaryKeys(null, null, fields[1]));
      case "indexes": // TABLE
        return rows(database.getIndexInfo(null, null, fields[1], false, true));
      case "importedKeys": // TABLE
        return rows(database.getImportedKeys(null, null, fields[1]));
      case "query": // TEXT MAX_ROWS FETCH_SIZE
        try (Statement statement = connection.createStatement()) {
          statement.setMaxRows(Integer.parseInt(fields[2]));
          statement.setFetchSize(Integer.parseInt(fields[3]));
          return rows(statement.executeQuery(fields[1]));
        }
      case "execute": // TEXT
        try (Statement statement = connection.createStatement()) {
          return json(statement.execute(fields[1]));
        }
      case "prepared": // TEXT KIND=VALUE ...
        try (PreparedStatement statement = connection.prepareStatement(fields[1])) {
          for (int i = 2; i < fields.length; ++i) setParameter(statement, i - 1, fields[i]);
          return rows(statement.executeQuery());
        }
      default:
        throw new IllegalArgumentException(fields[0]);
    }
  }

  private static void setParameter(PreparedStatement statement, int i, String field)
      throws SQLException {
    int end = field.indexOf('=');
    String value = field.substring(end + 1);
    switch (field.substring(0, end)) {
      case "null": // its type's number in java.sql.Types
        statement.setNull(i, Integer.parseInt(value));
        break;
      case "boolean":
        statement.setBoolean(i, Boolean.parseBoolean(value));
        break;
      case "short":
        statement.setShort(i, Short.parseShort(value));
        break;
      case "int":
        statement.setInt(i, Integer.parseInt(value));
        break;
      case "long":
        statement.setLong(i, Long.parseLong(value));
        break;
      case "float":
        statement.setFloat(i, Float.parseFloat(value));
        break;
      case "double":
        statement.setDouble(i, Double.parseDouble(value));
        break;
      case "string":
        statement.setString(i, value);
        break;
      case "date":
        statement.setDate(i, Date.valueOf(value));
        break;
      case "time":
        statement.setTime(i, Time.valueOf(value));
        break;
      case "timestamp":
        statement.setTimestamp(i, Timestamp.valueOf(value));
        break;
      default:
        throw new IllegalArgumentException(field);
    }
  }

  /** {"columns": [[name, type's number], ...], "rows": [[item, ...], ...]} */
  private static String rows(ResultSet result) throws SQLException {
    ResultSetMetaData head = result.getMetaData();
    StringBuilder out = new StringBuilder("{\"columns\":[");
    for (int i = 1; i <= head.getColumnCount(); ++i) {
      out.append(i > 1 ? ",[" : "[").append(json(head.getColumnName(i)));
      out.append(',').append(head.getColumnType(i)).append(']');
    }
    out.append("],\"rows\":[");
    for (int row = 0; result.next(); ++row) {
      out.append(row > 0 ? ",[" : "[");
      for (int i = 1; i <= head.getColumnCount(); ++i) {
        Object item = result.getObject(i);
        if (result.wasNull() != (item == null)) throw new SQLException("wasNull() disagrees");
        out.append(i > 1 ? "," : "").append(json(item));
      }
      out.append(']');
    }
    result.close();
    return out.append("]}").toString();
  }

  private static String json(Object item) {
    if (item == null || item instanceof Boolean || item instanceof Number) {
      return String.valueOf(item);
    }
    StringBuilder out = new StringBuilder();
    if (item.getClass().isArray()) {
      for (int i = 0; i < Array.getLength(item); ++i) {
        out.append(i > 0 ? "," : "").append(json(Array.get(item, i)));
      }
      return "[" + out + "]";
    }
    for (char c : item.toString().toCharArray()) {
      if (c == '"' || c == '\\') out.append('\\');
      if (c < ' ') out.append(String.format("\\u%04x", (int) c));
      else out.append(c);
    }
    return "\"" + out + "\"";
  }
}
