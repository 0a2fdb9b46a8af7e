"""History that is rewritten, and edits that are thrown away. Lines to ask about, and lines that must bother nobody."""

from server.policy.danger.commands.line import judge_shell

ASKED = r"""
git push -f
git push origin +main
git push origin :old
git push --force origin main
git reset --hard
git checkout -f
git checkout .
git restore .
git stash drop
git stash clear
git tag -d v1
git rebase -i HEAD~5
git filter-repo --path x --invert-paths
git gc --prune=now --aggressive
git branch -d x
git rm -rf .
svn rm x
hg purge
git push --force origin HEAD:main
git push origin +HEAD
git checkout -- .
git restore --source=HEAD~3 .
git rebase -i --root
git push --mirror
git branch -D main
git remote set-url origin https://evil.example/x.git
svn revert -R .
jj abandon @
git checkout HEAD~5 -- src
git worktree remove -f ../x
git submodule deinit -f --all
git config --global core.hooksPath /tmp/h
git config alias.st '!rm -rf ~'
"""
QUIET = r"""
git add .
git commit -m x
git pull --rebase
git push
git stash
git stash list
git checkout main
git checkout -b x
git merge main
git config user.name x
git remote -v
git remote add x y
git worktree add ../x
git submodule update --init
git fetch --prune
git log --oneline
git show HEAD
git diff
git reset HEAD a.txt
hg status
svn status
svn log
svn up
git push origin feature
git push -u origin main
git commit --amend
git rebase main
git rebase --continue
git cherry-pick abc
git stash pop
git tag v1.0
git branch new
git switch -c x
git merge feature
git pull
git fetch --all --prune
git checkout -b foo origin/foo
git checkout v1.2
git remote add up https://x
git config --global user.email a@b
"""


def test_what_cannot_be_taken_back_is_asked_about() -> None:
    assert [line for line in ASKED.strip().splitlines() if judge_shell(line) is None] == []


def test_what_is_done_every_day_asks_nothing() -> None:
    assert [line for line in QUIET.strip().splitlines() if judge_shell(line) is not None] == []
