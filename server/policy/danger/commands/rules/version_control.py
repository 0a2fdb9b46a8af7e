"""Programs that rewrite history, or throw away what was edited."""

from typing import Final

RULES: Final = """
overwrites or deletes what others have:
    git push -f|--force|--force-with-lease|--force-if-includes|--mirror|--delete|-d|--prune
overwrites what others have:
    git push ~+*
deletes a branch:
    git push * ~:*
throws edits away:
    git reset --hard|--merge|--keep
deletes files:
    git clean -f|--force|-x|-X !-n|--dry-run
throws edits away:
    git checkout -f|--force|--|.|-B|--ours|--theirs
    git checkout ~.|*/
    git restore !--staged|-S|--help
    git restore --worktree|-W
    git switch -f|--force|--discard-changes|-C|--force-create
deletes a branch:
    git branch -D|-d|--delete|-f|--force|-M
deletes a tag:
    git tag -d|--delete|-f|--force
throws edits away:
    git stash drop|clear
rewrites history:
    git rebase --onto|--root|-f|--force-rebase|-x|--exec|-i|--interactive
    git filter-branch|filter-repo|replace|fast-import|bfg !--abort|--continue|--show-current-patch|--help|--quit|
        --edit-todo|--skip
makes commits unrecoverable:
    git reflog expire|delete
    git gc --prune
    git repack -a|-A
    git prune
deletes a branch:
    git update-ref -d|--stdin|--no-deref
moves a branch:
    git update-ref ~refs/*
deletes a branch:
    git symbolic-ref -d|--delete
drops a work tree:
    git worktree remove|prune|move
changes where work goes:
    git remote rm|remove|set-url|rename
deletes files:
    git rm !--cached|-n|--dry-run
    git rm --force|-f|-r
drops submodules:
    git submodule deinit
rewrites history:
    git lfs prune|migrate|uninstall
changes the repository:
    git notes|rerere remove|prune|clear|forget
changes what git runs:
    git config ~core.hooksPath|core.sshCommand|credential.helper|url.*|alias.*|core.fsmonitor|http.sslVerify
overwrites edits:
    git merge|pull|cherry-pick -X|--strategy-option|--strategy|--force
leaks or sends:
    git credential|credential-store|credential-cache|daemon|send-email
rewrites history:
    bfg
    hg strip|purge|update|revert|rollback|push|histedit|rebase|branch|prune -C|--clean|--all|-f|--force|
        --new-branch|--no-backup|--config|--close-branch|--keep
    hg strip|purge|rollback|histedit|prune|forget|remove|rm|revert
deletes:
    svn delete|del|remove|rm|revert|cleanup|lock|unlock|propdel|pdel|propset|switch
    svnadmin|svndumpfilter|p4|cvs|fossil|bzr|jj|darcs|sl load|exclude|obliterate|delete|revert|rm|remove|unlock|
        shun|purge|uncommit|abandon|unrecord|obliterate|rollback|hide|strip|scrub|rmtxns|setrevprop|admin
rewrites history:
    jj abandon|git|op|undo|squash|restore push|restore|abandon
overwrites or deletes what others have:
    git pull|fetch --force|-f|--prune-tags
    git push --all|--tags --force|-f
    git lfs prune|unlock --force
rewrites history:
    git subtree|bundle|fast-import push --force
    git read-tree --reset
    git flow|town|machete delete|kill|wipe
    git svn|p4 dcommit|submit|reset
    git commit-tree|mktag|hash-object -w
    git push --receive-pack|--exec
throws edits away:
    git checkout ~HEAD~*|HEAD --|-f
    git switch|checkout --orphan
    repo|west forall|sync -c|--force-sync
    dvc|lakectl|git-annex|dolt remove|gc|destroy|drop|dropunused|reset|delete
changes what others run or see:
    gh|glab workflow|run|cache|codespace|cs|ssh-key|gpg-key|ruleset|environment|variable|deploy-key|gist|release|label|project
        run|disable|enable|cancel|delete|rm|remove|set|edit|add !list|ls|view|status|watch|diff|checks|get|download
    gh|glab pr|mr|issue|repo merge|delete|lock|transfer|archive|rename|sync
        !list|ls|view|status|diff|checks|create|comment
    gh auth|api token|logout|refresh
"""
