"""Clients of services, buttons, and texts that a program puts together."""

from typing import Final

from server.policy.danger.calls import judge_call

ASKED: Final = [
    ("javascript", "import { Octokit } from 'octokit';\nawait gh.rest.repos.delete({ owner: 'x', repo: 'y' });"),
    ("python", "import ccxt\nx.create_market_sell_order('ETH/EUR', 3)"),
    ("python", "import ldap\nfor e in found: c.delete_s(e)"),
    ("python", "from googleapiclient.discovery import build\nsvc.permissions().create(fileId=f, body=b).execute()"),
    ("python", "import subprocess as sp\nsp.check_call(['r' + 'm', '-r' + 'f', '/opt/models'])"),
    ("python", "k = 'rm'\na = ['-rf', '/x']\nimport subprocess\nsubprocess.run([k] + a)"),
    ("python", "df = pd.read_csv('a.csv')\ndf = df[df.x > 1]\ndf.to_csv('a.csv')"),
    ("python", "cur.executemany('delete from bookings where id = %s', ids)"),
    ("python", "import sqlite3\nsqlite3.connect(':memory:')\nsqlite3.connect('a.db').execute('delete from u')"),
    ("node", "await import('data:text/javascript,' + src)"),
    ("browser_evaluate", "document.querySelector('[data-action=delete-forever]').click()"),
    ("ruby", "Customer.where('x < 1').find_each(&:destroy!)"),
    ("groovy", "new File('/data/jobs').eachDir { it.deleteDir() }"),
    ("ipython", "%%bash\ncd /mnt\nrm -rf ./2020-*"),
    ("python", "x = " + "+".join(["1"] * 600)),
]
QUIET: Final = [
    ("javascript", "import { Octokit } from 'octokit';\nawait gh.rest.repos.listForOrg({ org: 'x' });"),
    ("python", "import boto3\nprint(boto3.client('s3').list_buckets())"),
    ("python", "k = 'ls'\nimport subprocess\nsubprocess.run([k, '-l'])"),
    ("python", "df = pd.read_csv('a.csv')\ndf.to_csv('b.csv')"),
    ("python", "import sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('delete from u')"),
    ("node", "document.querySelector('.next-page').click()"),
    ("python", "x = [1, 2]\nx.remove(1)"),
]


def test_what_cannot_be_taken_back_is_asked_about() -> None:
    assert [one for one in ASKED if judge_call(one[0], "EXTERNAL", {"code": one[1]}) is None] == []


def test_what_is_done_every_day_asks_nothing() -> None:
    assert [one for one in QUIET if judge_call(one[0], "EXTERNAL", {"code": one[1]}) is not None] == []
