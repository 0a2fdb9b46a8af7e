"""Programs that empty or change databases, queues and logs."""

from typing import Final

RULES: Final = """
changes a database:
    dropdb|dropuser|mysqladmin|pg_ctl|pg_resetwal|pg_dropcluster|mariadb-admin|createuser|reindexdb|clusterdb|
        vacuumdb|pg_restore|pg_rewind|mysql_secure_installation|mongorestore|mysqlimport|pg_upgrade|pg_ctlcluster|
        redis-shutdown|influxd|arangorestore|pg_createcluster|pg_archivecleanup|mongo-restore|initdb !version|status|
        ping|processlist|--version|extended-status|variables|-l|--list|-V
runs unknown SQL:
    psql|mysql|mariadb|sqlite3|sqlcmd|mongosh|mongo|cqlsh|clickhouse-client|duckdb|sqlplus|isql|usql|cockroach|
        snowsql|bteq|db2|impala-shell|presto|trino|beeline|hive -f|--file|-i|--init|@*|<|-@
takes tables away:
    alembic downgrade|stamp|merge|upgrade-sql
empties the database:
    manage.py|django-admin flush|reset_db|sqlflush|dropdb|clearsessions|changepassword|createsuperuser|
        remove_stale_contenttypes|clear|purge|truncate
takes tables away:
    manage.py|django-admin migrate zero|--fake
    flask db downgrade|drop|stamp
    rails|rake|bin/rails|bundle|artisan|mix|knex|sequelize|sequelize-cli|typeorm|prisma|flyway|liquibase|goose|
        dbmate|sqlx|diesel|doctrine|bin/console|console|phinx|migrate|sql-migrate|atlas|sqitch|strapi|drush|occ|magento|
        dbt|yoyo|php db:drop|db:reset|db:rollback|db:migrate:reset|db:purge|db:schema:load|db:seed:replant|
        migrate:fresh|migrate:reset|migrate:rollback|migrate:refresh|db:wipe|ecto.drop|ecto.reset|ecto.rollback|
        rollback|db:migrate:undo:all|db:migrate:undo|schema:drop|drop|drop-all|dropAll|undo|revert|clean|reset|down|
        doctrine:database:drop|doctrine:schema:drop|db:truncate_all|sql-drop|site-install|user:delete|migration:revert|
        queue:flush|queue:clear|key:generate|rollbackCount|storage:clear
    prisma|drizzle-kit|typeorm migrate|db|schema|push|migration reset|push|--force-reset|--accept-data-loss|drop|
        revert
changes a site:
    wp db|post|user|plugin|theme|site|option|comment|term|media|cache|transient|core drop|reset|delete|clean|
        uninstall|empty|deactivate|search-replace|flush|import|--force|query|update|spam|trash|archive|downgrade
deletes keys:
    redis-cli|valkey-cli|keydb-cli flushall|flushdb|shutdown|del|unlink|debug|config|slaveof|replicaof|script|eval|
        rename|move|migrate|restore|swapdb|cluster|client|acl|xtrim|ltrim|spop|getdel|failover|function|reset|FLUSHALL|
        FLUSHDB|SHUTDOWN|DEL|UNLINK|DEBUG|CONFIG|SLAVEOF|REPLICAOF|SCRIPT|EVAL|RENAME|CLUSTER|ACL|FAILOVER|GETDEL|CLIENT
    etcdctl|etcdutl|consul|zkCli.sh|zookeeper-shell|nomad del|delete|rmr|deleteall|kv|member|snapshot|defrag|
        compaction|compact|auth|user|role|force-leave|leave|job|system|node|stop|namespace|acl|operator|alloc|lock|raft|
        services|maint|intention|restore
deletes queues:
    rabbitmqctl|rabbitmqadmin|rabbitmq-plugins|rabbitmq-queues reset|force_reset|delete|purge|purge_queue|
        delete_queue|delete_user|delete_vhost|stop|stop_app|shutdown|forget_cluster_node|clear_permissions|
        clear_password|change_password|set_permissions|set_user_tags|add_user|disable|close_connection|
        close_all_connections|kill|clear_policy|delete_exchange|rename_cluster_node|stop_rabbit|delete_member|
        rotate_logs|decommission_mqtt_node|enter_maintenance
deletes topics:
    kafka-topics|kafka-topics.sh|kafka-delete-records|kafka-delete-records.sh|kafka-consumer-groups|
        kafka-consumer-groups.sh|kafka-configs|kafka-configs.sh|kafka-acls|kafka-acls.sh|kafka-reassign-partitions.sh|
        kafka-storage.sh|rpk --delete|--delete-offsets|--reset-offsets|--alter|--offset-json-file|--remove|--execute|
        format|delete
deletes records:
    kafka-delete-records|kafka-delete-records.sh
deletes topics:
    rpk|kcat|kaf topic|group|cluster|security|acl delete|trim-prefix|seek
deletes streams:
    nats stream|consumer|kv|object|account|server|obj rm|purge|del|delete|rmm|cluster|edit
deletes data:
    influx|influxd delete|bucket|org|user|auth|restore|stack|task
    elasticsearch-plugin|curator|elasticsearch-users|elasticsearch-node|opensearch-plugin|
        elasticsearch-reset-password remove|delete_indices|userdel|unsafe-bootstrap|detach-cluster|repurpose|*
takes a node away:
    nodetool decommission|drain|removenode|assassinate|clearsnapshot|stopdaemon|truncatehints|cleanup|disablegossip|
        disablebinary|rebuild|move|resetlocalschema|garbagecollect
deletes files:
    hdfs|hadoop|yarn-rm dfs|fs|namenode|dfsadmin|fsck -rm|-rmr|-rmdir|-expunge|-format|-delete|-skipTrash|-safemode|
        -truncate|-deleteSnapshot|-setSpaceQuota|-chmod|-chown|-move
deletes data:
    spark-submit|airflow|celery|dagster|prefect|luigi|rq db|dags|tasks|connections|variables|pools|users|purge|
        control|empty|flow|deployment|work-pool|kill reset|clean|delete|clear|purge|shutdown|--force|empty|-f|downgrade
deletes or changes data:
    mongodump|mongoimport --drop
    vtctl|vtctlclient|vtctldclient|tiup|yb-admin|pscale drop|destroy|clean|delete|scale-in|DeleteKeyspace|DeleteShard|DeleteTablet
    patronictl|repmgr|pg_autoctl|stolonctl|orchestrator-client|maxctrl|proxysql-admin|pcp_promote_node|pcp_detach_node
        switchover|failover|reinit|restart|remove|pause|edit-config|drop|promote|destroy|stop|set|unregister
    pt-archiver|pt-kill|pt-online-schema-change|pt-table-sync|gh-ost --purge|--kill|--execute|--alter
    migrate|goose|dbmate|atlas|skeema|tern|db-migrate|sea-orm-cli|mikro-orm|umzug|refinery|drizzle-kit|sequelize|prisma
        drop|down|down-to|reset|force|rollback|clean|fresh|refresh|revert|undo|redo|migration:fresh|migration:down|schema:drop|
        schema:fresh|migrate:reset|push
    rails|rake|bin/rails|bin/rake db:migrate:down|db:migrate:redo|db:drop:all|db:setup|db:environment:set|runner|destroy|db:nuke
    neo4j-admin|dgraph|arangosh|influxd|curator_cli|elasticdump load|restore|dropall|drop|delete|delete_indices|bulk
        --force|--overwrite-destination|drop|dropall|delete|restore|delete_indices
    promtool|thanos|mimirtool|logcli|victoria-metrics tsdb|delete|cleanup|bucket|rules delete|delete-series|cleanup|load
    spark-sql|beeline|databricks|dbt fs|run|rm|clusters|jobs|workspace --full-refresh|rm|-rm|delete|permanent-delete
    redis-cli|valkey-cli|keydb-cli --pipe|--cluster|--eval
    redis-cli|valkey-cli|keydb-cli hdel|srem|zrem|lrem|expire|pexpire|xdel|HDEL|EXPIRE|FT.DROPINDEX|ft.dropindex|ltrim|getset
    memcflush|memrm
    memcached-tool flush_all
    kafkactl|pulsar-admin|ksql|confluent|kcctl delete|delete-topic|terminate|unload|clear-backlog|reset|topics
        delete|terminate|unload|clear-backlog|reset|delete-topic|delete-partitioned-topic
    celery|rq|sidekiqctl|faktory|temporal|tctl|zbctl|beanstalkd-cli purge|empty|terminate|kill|cancel|stop|shutdown|reset|delete
sends messages to machines:
    mosquitto_pub|mqttx -t|pub
changes a database:
    bcp in
    influx -execute|--execute ~*[Dd][Rr][Oo][Pp]*|*[Dd][Ee][Ll]*
    cypher-shell|gremlin.sh|arangosh ~*[Dd][Ee][Ll][Ee][Tt][Ee]*|*[Dd][Rr][Oo][Pp]*
changes a directory:
    ldapdelete|ldapmodify|ldapadd|ldapmodrdn|ldappasswd !-n|-VV
    realm|adcli leave|delete-computer|delete-user
    net ads|rpc leave|delete|user
takes tables away:
    dotnet ef database|migrations drop|remove
"""
