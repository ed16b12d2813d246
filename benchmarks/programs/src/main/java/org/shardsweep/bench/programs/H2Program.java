// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.programs;

import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;
import org.shardsweep.bench.Digests;
import org.shardsweep.bench.Program;
import org.shardsweep.bench.Size;
import org.shardsweep.bench.Workers;
import org.shardsweep.bench.Workload;

/**
 * {@code h2}: an H2 database in memory. Threads transfer amounts between accounts and query them.
 * Which transfers there are does not depend on the number of threads, and sums do not on their
 * order: all balances at the end are known.
 */
public final class H2Program implements Program {
  /** What each account has at the start. */
  private static final int BALANCE = 1000;

  private static final int LARGEST_TRANSFER = 100;

  /** Steps that a thread takes at once: a query, and then transfers. */
  private static final int ROUND = 4;

  /** Accounts that a query looks at. */
  private static final int RANGE = 50;

  private static final long SEED = 17;

  @Override
  public String name() {
    return "h2";
  }

  @Override
  public Workload open(Setting setting) throws SQLException {
    return new Bank(setting);
  }

  private static final class Bank implements Workload {
    /** The database is there as long as a connection is: this one. */
    private final Connection keeper;

    private final Size size;
    private final int threads;
    private final int accounts;
    private final int steps;

    Bank(Setting setting) throws SQLException {
      size = setting.size();
      threads = setting.threads();
      accounts = size.of(5_000, 100_000, 200_000);
      steps = size.of(2_000, 60_000, 120_000);
      keeper = connect();
    }

    private static Connection connect() throws SQLException {
      return DriverManager.getConnection("jdbc:h2:mem:bank;LOCK_TIMEOUT=60000");
    }

    @Override
    public void prepare() throws SQLException {
      try (Statement statement = keeper.createStatement()) {
        statement.execute("DROP TABLE IF EXISTS account");
        statement.execute(
            "CREATE TABLE account (id INT PRIMARY KEY, branch INT, owner VARCHAR, balance BIGINT)");
        statement.execute("CREATE INDEX by_branch ON account (branch)");
      }
      keeper.setAutoCommit(false);
      try (PreparedStatement insert =
          keeper.prepareStatement("INSERT INTO account VALUES (?, ?, ?, " + BALANCE + ")")) {
        for (int id = 0; id < accounts; id++) {
          insert.setInt(1, id);
          insert.setInt(2, id % (accounts / RANGE));
          insert.setString(3, "owner of account " + id);
          insert.addBatch();
          if (id % 1000 == 999) {
            insert.executeBatch();
          }
        }
      }
      keeper.commit();
      keeper.setAutoCommit(true);
    }

    @Override
    public void run() throws Exception {
      Workers workers = new Workers("Teller", threads);
      workers.run(number -> work(workers, number));
    }

    private void work(Workers workers, int number) throws SQLException {
      try (Connection connection = connect();
          PreparedStatement change =
              connection.prepareStatement("UPDATE account SET balance = balance + ? WHERE id = ?");
          PreparedStatement query =
              connection.prepareStatement(
                  "SELECT owner, balance FROM account WHERE branch = ? ORDER BY balance DESC, id")) {
        connection.setAutoCommit(false);
        for (int round = number; round < steps / ROUND && !workers.failed(); round += threads) {
          for (int place = 0; place < ROUND; place++) {
            Random random = new Random(SEED * steps + round * ROUND + place);
            if (place == 0) {
              ask(query, random.nextInt(accounts / RANGE));
            } else {
              transfer(change, random);
            }
            connection.commit();
          }
        }
      }
    }

    /** Locks the account with the smaller number first, so that no two wait for each other. */
    private void transfer(PreparedStatement change, Random random) throws SQLException {
      int one = random.nextInt(accounts);
      int other = random.nextInt(accounts);
      int amount = 1 + random.nextInt(LARGEST_TRANSFER);
      add(change, Math.min(one, other), amount);
      add(change, Math.max(one, other), -amount);
    }

    private static void add(PreparedStatement change, int id, int amount) throws SQLException {
      change.setInt(1, amount);
      change.setInt(2, id);
      if (change.executeUpdate() != 1) {
        throw new IllegalStateException("there is no account " + id);
      }
    }

    private static void ask(PreparedStatement query, int branch) throws SQLException {
      query.setInt(1, branch);
      int found = 0;
      long before = Long.MAX_VALUE;
      try (ResultSet rows = query.executeQuery()) {
        while (rows.next()) {
          long balance = rows.getLong(2);
          if (balance > before || rows.getString(1).isEmpty()) {
            throw new IllegalStateException("the accounts of branch " + branch + " are in disorder");
          }
          before = balance;
          found++;
        }
      }
      if (found != RANGE) {
        throw new IllegalStateException("branch " + branch + " has " + found + " accounts");
      }
    }

    @Override
    public Digests results() throws SQLException {
      StringBuilder text = new StringBuilder();
      long sum = 0;
      try (Statement statement = keeper.createStatement();
          ResultSet rows = statement.executeQuery("SELECT id, balance FROM account ORDER BY id")) {
        while (rows.next()) {
          sum += rows.getLong(2);
          text.append(rows.getInt(1)).append(' ').append(rows.getLong(2)).append('\n');
        }
      }
      if (sum != (long) accounts * BALANCE) {
        text.append("the sum is ").append(sum);
      }
      return Digests.ofText("h2/" + size.label(), text.toString());
    }

    @Override
    public void close() throws IOException {
      try {
        keeper.close();
      } catch (SQLException e) {
        throw new IOException(e);
      }
    }
  }
}
