import java.sql.*; import java.util.Properties;
public class Meta {
  static void rows(String what, ResultSet r) throws SQLException {
    int n = 0, k = r.getMetaData().getColumnCount(); StringBuilder s = new StringBuilder();
    while (r.next() && n++ < 6) { for (int i = 1; i <= Math.min(k, 6); i++) s.append(r.getString(i)).append("|"); s.append(" "); }
    System.out.println(what + " " + k + " columns: " + s); r.close();
  }
  public static void main(String[] a) throws Exception {
    Properties p = new Properties(); p.setProperty("user", "analyst"); if (System.getenv("PGPASSWORD") != null) p.setProperty("password", System.getenv("PGPASSWORD"));
    p.setProperty("ApplicationName", "pgjdbc"); if (a.length > 1) { p.setProperty("sslmode", "verify-full"); p.setProperty("sslrootcert", a[1]); }
    try (Connection c = DriverManager.getConnection("jdbc:postgresql://localhost:" + a[0] + "/tacit", p)) {
      DatabaseMetaData m = c.getMetaData();
      System.out.println(m.getDatabaseProductName() + " " + m.getDatabaseProductVersion());
      rows("catalogs", m.getCatalogs()); rows("schemas", m.getSchemas()); rows("types", m.getTableTypes());
      rows("tables", m.getTables(null, "public", "%", new String[] {"TABLE", "VIEW"}));
      rows("columns", m.getColumns(null, "public", "users", "%"));
      rows("keys", m.getPrimaryKeys(null, "public", "users")); rows("imported", m.getImportedKeys(null, "public", "users"));
      rows("indexes", m.getIndexInfo(null, "public", "users", false, true)); rows("typeinfo", m.getTypeInfo());
      rows("functions", m.getFunctions(null, "public", "%")); rows("procedures", m.getProcedures(null, "public", "%"));
      rows("privileges", m.getTablePrivileges(null, "public", "users")); rows("columnprivileges", m.getColumnPrivileges(null, "public", "users", "%"));
      rows("best", m.getBestRowIdentifier(null, "public", "users", 1, true)); rows("udts", m.getUDTs(null, "public", "%", null));
      rows("exported", m.getExportedKeys(null, "public", "users")); rows("client", m.getClientInfoProperties());
      System.out.println(m.getSQLKeywords().length() > 0); System.out.println(c.getSchema() + " " + c.isValid(5) + " " + c.getTransactionIsolation());
      c.setReadOnly(true); c.setAutoCommit(false);
      try (PreparedStatement s = c.prepareStatement("SELECT os, COUNT(*) AS n FROM users WHERE age > ? GROUP BY os ORDER BY os")) {
        for (int i = 0; i < 7; i++) { s.setInt(1, 2); rows("question", s.executeQuery()); }
        ResultSetMetaData d = s.getMetaData(); for (int i = 1; i <= d.getColumnCount(); i++) System.out.print(d.getColumnName(i) + ":" + d.getColumnTypeName(i) + ":" + d.isNullable(i) + ":" + d.isAutoIncrement(i) + " ");
        System.out.println(s.getParameterMetaData().getParameterTypeName(1));
      }
      c.commit();
      try (Statement s = c.createStatement()) { s.setFetchSize(1); rows("cursor", s.executeQuery("SELECT age, COUNT(*) AS n FROM users GROUP BY age")); }
      try (Statement s = c.createStatement()) { s.executeQuery("SELECT agee FROM users"); } catch (SQLException e) { System.out.println(e.getSQLState()); }
      c.rollback();
      try (Statement s = c.createStatement()) { s.executeUpdate("DELETE FROM users"); System.out.println("deleted"); } catch (SQLException e) { System.out.println(e.getSQLState()); }
    }
  }
}
