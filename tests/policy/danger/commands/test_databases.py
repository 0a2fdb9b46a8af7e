"""Command lines of databases and queues. Lines to ask about, and lines that must bother nobody."""

from server.policy.danger.commands.line import judge_shell

ASKED = r"""
dropdb shop
mysql -e 'drop database shop'
psql -c 'truncate users'
psql shop -c "delete from users"
psql -f wipe.sql
mongosh --eval 'db.dropDatabase()'
redis-cli flushall
redis-cli -n 1 FLUSHDB
rails db:drop
rake db:reset
etcdctl del --prefix /
rabbitmqctl delete_queue x
kafka-topics --delete --topic x
consul kv delete -recurse x
nomad job stop x
psql -c 'grant all on all tables in schema public to public'
pg_ctl stop -m immediate
mysqladmin shutdown
pscale branch delete db main
mysql -e "DROP USER 'x'@'%'"
mysqladmin -u root drop shop
psql -c "ALTER ROLE x SUPERUSER"
sqlite3 db.sqlite "UPDATE users SET admin=1"
mongosh --eval "db.dropDatabase()"
rails db:reset
alembic downgrade -1
flyway clean
liquibase drop-all
hdfs dfs -rm -r /data
kafka-topics.sh --delete --topic x --bootstrap-server b
etcdctl del /registry --prefix
nomad job stop -purge x
mysqladmin drop shop
mysql -e 'SET GLOBAL read_only=1'
psql -c 'ALTER SYSTEM SET fsync=off'
pg_restore --clean -d prod x.dump
redis-cli CONFIG SET save ""
mongoimport --drop -c x f.json
nodetool decommission
kafka-consumer-groups.sh --reset-offsets --to-earliest --execute --group g --topic t
rails runner 'User.delete_all'
etcdctl snapshot restore x
"""
QUIET = r"""
psql -c 'select 1'
mysql -e 'select * from deleted_users'
sqlite3 app.db '.tables'
sqlite3 app.db 'select count(*) from t'
redis-cli ping
redis-cli get key
redis-cli keys '*'
redis-cli info
mongosh --eval 'db.users.find()'
consul members
nomad status
kafka-topics --list
rabbitmqctl list_queues
etcdctl get x
rails routes
rails console --sandbox
psql -c "insert into t values (1)"
psql -l
sqlite3 x.db .schema
redis-cli set a b
redis-cli ttl a
mysql -e "show processlist"
flask run
rails s
rails g model x
alembic upgrade head
redis-cli save
"""


def test_what_cannot_be_taken_back_is_asked_about() -> None:
    assert [line for line in ASKED.strip().splitlines() if judge_shell(line) is None] == []


def test_what_is_done_every_day_asks_nothing() -> None:
    assert [line for line in QUIET.strip().splitlines() if judge_shell(line) is not None] == []
