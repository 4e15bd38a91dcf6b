# Moves money between accounts of a SQLite database, a transaction at a time,
# and says each one that is committed.
#   bank.py new DB MODE      makes the database
#   bank.py work DB NAME N   N transactions
#   bank.py check DB         says ok, and each transaction that is there
import sqlite3, sys

what, path = sys.argv[1:3]
db = sqlite3.connect(path, timeout=300, isolation_level=None)

if what == 'new':
    mode = sys.argv[3]
    assert db.execute('PRAGMA journal_mode = ' + mode).fetchone()[0] == mode
    db.execute('CREATE TABLE account (id INTEGER PRIMARY KEY, sum INTEGER)')
    db.execute('CREATE TABLE done (name TEXT, i INTEGER, text TEXT, PRIMARY KEY (name, i))')
    db.executemany('INSERT INTO account VALUES (?, 1000)', [(i,) for i in range(7)])

if what == 'work':
    name, n = sys.argv[3], int(sys.argv[4])
    for i in range(n):
        db.execute('BEGIN IMMEDIATE')
        db.execute('UPDATE account SET sum = sum - 1 WHERE id = ?', (i % 7,))
        db.execute('UPDATE account SET sum = sum + 1 WHERE id = ?', ((i + 3) % 7,))
        db.execute('INSERT INTO done VALUES (?, ?, ?)', (name, i, name * (i % 900)))
        if i % 5 == 4:
            db.execute('DELETE FROM done WHERE name = ? AND i = ?', (name, i - 2))
        db.execute('COMMIT')
        print(name, i, flush=True)

if what == 'check':
    print(db.execute('PRAGMA integrity_check').fetchone()[0])
    assert db.execute('SELECT sum(sum) FROM account').fetchone()[0] == 7000
    for row in db.execute('SELECT name, i FROM done'):
        print(*row)
