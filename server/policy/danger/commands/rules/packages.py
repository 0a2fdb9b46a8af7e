"""Programs that remove, publish or install packages."""

from typing import Final

RULES: Final = """
removes programs:
    apt|apt-get|aptitude|dnf|yum|zypper|microdnf|tdnf|opkg|xbps-remove|eopkg|urpme|pkg|pkgin|port|brew|snap|flatpak|
        choco|chocolatey|winget|scoop|nix-env|guix|apk|emerge|conda|mamba|micromamba|pip|pip3|uv|pipx|npm|pnpm|yarn|gem|
        cargo|composer|dotnet|mise|asdf|sdk|rustup|nvm|volta|poetry|pdm|rye|bundle|cpan|luarocks|opam|stack|cabal|ghcup|
        helm-plugin|pkg_delete|pkgutil|mas|softwareupdate|fnm|pyenv|rbenv|jenv|bun|deno|code|cursor|codium remove|purge|
        autoremove|erase|uninstall|rm|del|delete|unmerge|--purge|dist-upgrade|full-upgrade|system-upgrade|autopurge|
        downgrade|--uninstall|--uninstall-extension|zap|implode|--unmerge|-C|--depclean|unpublish|yank|deprecate|
        --forget
    dpkg|rpm|pacman|yay|paru -r|-P|--purge|--remove|-e|--erase|-R|-Rdd|-Rns|-Rs|-Rsc|-Rcns|-Rn|-Rc|--force-all|
        --force-depends|--nodeps|-Scc
forces packages:
    dpkg --force-*|-i
    apt|apt-get|dnf|yum|pacman --allow-downgrades|--allow-remove-essential|--force-yes|--allow-unauthenticated|
        --nogpgcheck|--allow-change-held-packages
runs a stranger's code:
    pip|pip3|pipx|uv|npm|pnpm|yarn|bun install|add ~git+http*|http://*|https://*
publishes to the world:
    npm|pnpm|yarn|cargo|gem|poetry|flit|hatch|uv|pdm|twine|dart|flutter|mvn|mvnw|gradle|gradlew|lerna|changeset|
        vsce|ovsx|snapcraft|pod|hex|mix|nuget|dotnet|luarocks|clojars|lein|sbt|conda|jsr|deno|goreleaser|
        semantic-release|np|wasm-pack|elm|spago|bun|rush|nx|docker-push|buf|modal|charmcraft publish|push|upload|
        release|deploy|trunk|dist-tag|owner|yank|unpublish|deprecate|publishToMavenLocal|hex.publish|access|transfer|
        lerna|workspaces|nuget
    twine upload
    dotnet nuget push|delete
forces packages:
    npm|pnpm audit --force
runs what cannot be taken back:
    npm|pnpm|yarn run|exec|npx publish|release|deploy|release:prod|deploy:prod|db:reset|db:drop|deploy:production|
        nuke|destroy|purge|reset
changes an account:
    npm|pnpm|yarn|bun token|access|owner|team|org|profile|hook|star|adduser|logout create|revoke|grant|rm|add|
        destroy|set
removes an environment:
    conda|mamba env remove
installs from a stranger:
    pip|pip3|npm|yarn install --index-url|--extra-index-url|--registry|-i|--trusted-host
runs a stranger's code:
    choco|chocolatey|winget|scoop|nuget|dotnet|gem|conda|mamba|helm|pip|pip3|uv|poetry|npm|pnpm|yarn|bun|brew|flatpak install|add|upgrade|update|tool
        --ignore-checksums|--allow-empty-checksums|--no-verify|--skip-verify|--insecure|--no-check-certificate|--allow-insecure
    choco|chocolatey|winget|scoop|nuget|dotnet|gem|conda|mamba|helm|pip|pip3|uv|npm|pnpm|yarn|bun install|add|upgrade
        --source|-s|--add-source|--index|--registry|--repo|-c|--channel|--find-links|-f ~http:*
    cargo install --git
    go install|run ~http*|*git.*/*
    pip|pip3|pipx|uv install|run|add|tool ~git+*|hg+*|svn+*|*http:*|*https:*
    npm|pnpm|yarn|bun|bunx|npx|deno install|i|add|x|dlx|exec|run ~http*|git+*|github:*|git:*|git@*
    gem install --source|-s
    brew install|tap ~http*
    flatpak|snap install|remote-add --dangerous|--devmode|--from|--no-gpg-verify|--jailmode
    apt|apt-get|dnf|yum|zypper install ~http*|ftp*
    rpm -i|-U|-F ~http*|ftp*
    apt-key|add-apt-repository|apt-add-repository|rpmkeys !list|-l|--list|finger|--help
    dnf|yum|zypper config-manager|addrepo|ar ~http*
    installer -pkg|-package
    helm plugin install
    kubectl krew install
    gh extension install
    gem sources -a|--add
    npm|yarn|pnpm config set registry|strict-ssl|ignore-scripts
    pip|pip3|uv|conda config set|--add ~*index-url*|*trusted-host*|*channels*|*ssl_verify*
    wine|wine64|mono ~*.exe|*.msi
removes or changes many programs:
    rpm-ostree|ostree|bootc|transactional-update|swupd rollback|rebase|reset|override|undo|switch|uninstall|admin
    dnf|yum|zypper history|distro-sync|dup|remove undo|rollback|distro-sync|dup
    nix-collect-garbage -d|--delete-old|--delete-older-than
    nixos-rebuild|home-manager|darwin-rebuild switch|boot|--rollback
    do-release-upgrade|freebsd-update|sysupgrade !-c|fetch|-h
    rustup|sdk|juliaup self|uninstall|remove uninstall|remove
    conda|mamba|micromamba remove --all|-a
runs a stranger's code:
    go run ~*.*/*@*
"""
