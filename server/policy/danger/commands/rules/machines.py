"""Programs that run machines, clusters, accounts of clouds, desktops and phones."""

from typing import Final

RULES: Final = """
VERBS:
    virsh|vboxmanage|VBoxManage|multipass|vagrant|lima|limactl|colima|qm|pct|xe|incus|lxc|vmrun|prlctl|orb|tart|
        minikube|kind|k3d|k3s|k0s|microk8s|kubeadm|rdctl|machinectl|podman-machine|ctr|crictl|nerdctl|buildah|skopeo|
        distrobox|toolbox|utmctl|govc|proxmox-backup-client|ovirt-shell|openstack|esxcli|docker-machine|waydroid|anbox|
        k3s-uninstall.sh|talosctl
removes a cluster:
    k3s-uninstall.sh|k3s-agent-uninstall.sh|rke2-uninstall.sh|uninstall.sh
changes many machines:
    ansible|salt|salt-ssh|bolt|pyinfra|fab|cap|capistrano|knife ~shell|command|raw|reboot|state.*|cmd.run|*reboot*|
        *shutdown*|service.stop|deploy|deploy:rollback|production|*rm *|*state=absent*|*state=stopped* !-C|--check|
        --noop
changes many machines:
    chef-client|chef-solo !--why-run|-W|--version|--help
    ansible-galaxy install|role|collection install
changes infrastructure:
    terraform|tofu|terragrunt import|refresh
changes what others use:
    heroku config:set|config:unset|ps:scale|ps:stop|ps:restart|maintenance:on|pg:reset|pg:promote|pg:restore|pg:killall|domains:remove|
        access:add|apps:transfer|apps:rename|addons:create|drains:add|labs:enable|certs:update|dyno:kill|dyno:resize
    supabase db|functions|secrets push|reset|deploy|set|unset|delete
    glab ci run|trigger|cancel|retry|delete
    kubectl|oc|k proxy --address=0.0.0.0|--accept-hosts|--disable-filter
    kubectl|oc|k run ~--image*
changes a machine:
    puppet apply|agent !--noop
changes many machines:
    ansible-playbook !-C|--check|--syntax-check|--list-tasks|--list-hosts|--list-tags|--version
changes infrastructure:
    terraform|tofu|terragrunt|opentofu|tf apply|destroy|taint|untaint|force-unlock|apply-all|destroy-all
    terraform|tofu|terragrunt|opentofu|tf state|workspace rm|mv|push|replace-provider|delete
    terragrunt run-all apply|destroy
VERBS:
    pulumi|cdk|sst|serverless|sls|sam|amplify|architect|chalice|zappa|apex|encore|cdktf|crossplane|eksctl|kops|rosa|
        waypoint|nitric|sst-dev|cf|ibmcloud|oci|aliyun|tccli|hcloud|scw|linode-cli|vultr-cli|upctl|exo|civo|doctl|
        heroku|dokku|fly|flyctl|railway|koyeb|northflank|upsun|netlify|vercel|surge|wrangler|firebase|supabase|appwrite|
        nhost|neonctl|pscale|turso|atlas|mongocli|ccloud|confluent|databricks|snow|gh|glab|jira|sentry-cli|newrelic|
        datadog-ci|auth0|okta|stripe|twilio|shopify|contentful|sanity|hasura|apollo|circleci|buildkite-agent|drone|
        travis|jenkins-cli|argo|argocd|flux|tkn|kn|istioctl|linkerd|velero|kustomize|skaffold|tilt|helmfile|werf|
        devspace|okteto|rancher|oc|kubectl|kubectl.exe|k|kubecolor|microk8s.kubectl|k9s|aws|aws2|awslocal|gcloud|gsutil|
        bq|az|azcopy|s3cmd|s5cmd|mc|minio|b2|swift|rclone-delete|docker|docker-compose|podman|podman-compose|nerdctl|
        helm|exoscale|radius|clever|scalingo|gigalixir|fastly|cloudflare|bunny|dnscontrol|octodns|godaddy|namecheap|
        route53|cli53|gandi|ovh|vercel-cli|eb|ecs-cli|lightsail|saml2aws|k0sctl|kubectx|steampipe|nomad|juju|maas|
        snapctl|lxd|landscape-api|replicated|kots|deployctl|modal|replicate|huggingface-cli|hf|wandb|lms
changes settings:
    defaults delete|write|import|rename
changes power:
    pmset sleepnow|restoredefaults|schedule|-a|displaysleepnow
changes a phone:
    adb shell|reboot|uninstall|root|push|wipe|sideload|emu|reboot-bootloader ~rm|reboot*|uninstall|wipe|-rf|
        bootloader|recovery|clear|sideload
erases a phone:
    fastboot erase|flash|format|oem|flashing|reboot|wipe|-w|delete-logical-partition
    fastboot -w
speaks to all users:
    wall|write
stops something:
    busctl|dbus-send|gdbus|qdbus ~*Reboot*|*PowerOff*|*Shutdown*|*StopUnit*|*Suspend*|*Terminate*|*Halt*
takes shares away:
    exportfs|showmount -u|-ua|-au
stops the database:
    mongod --shutdown
takes a site down:
    nginx -s ~stop|quit
    apachectl|apache2ctl|httpd|haproxy|caddy|traefik stop|graceful-stop|-k
changes accounts:
    kcadm|kcadm.sh delete|create|update|set-password|add-roles|remove-roles
shows or gives away credentials:
    az storage|cosmosdb|redis|servicebus|eventhubs|iot|search|cognitiveservices|batch|functionapp|webapp|acr keys|credential|credentials|
        connection-string|list-connection-strings|authorization-rule|token|publishing list|show|list-publishing-credentials|renew
    aws s3 presign
    aws s3 website
prints many copies:
    lp|lpr -n|-# ~[3-9][0-9]|[0-9][0-9][0-9]|[0-9][0-9][0-9][0-9]
stops services:
    forever stop|stopall
ends sessions:
    screen -X
restarts the machine:
    softwareupdate --restart|-R
puts something into the world:
    docker|podman|nerdctl push
opens a link that acts:
    xdg-open|open|start|gnome-open ~*delete*|*confirm=*|*unsubscribe*
everything that is made is open to all:
    umask ~0|00|000|0000
takes resources away:
    ulimit|prlimit -n|-u ~0|1|2
unpacks over the system:
    tar -C|--directory ~/|/etc*|/usr*
runs commands:
    vim|vi|nvim|ex|emacs -c|--cmd|--eval ~*!rm*|*!*sh*|*delete-file*
changes what runs:
    kubectl|oc|k rollout undo|restart
    wp-cli|mix|composer|bundle deploy|self-update|--delete
changes what runs:
    kubectl|oc|k|kubecolor apply|create|replace|patch|edit|set|annotate|label|taint|expose|autoscale|run|adm|certificate|debug
        !--dry-run|--dry-run=client|--dry-run=server|--help|-h|view-last-applied|auth|explain|get|describe|logs|top|config|wait|
        diff|rollout|exec
    kubectl|oc|k config delete-context|delete-cluster|delete-user|unset
    helm|helm3|helmfile|werf|timoni|kapp|kluctl|tk|skaffold|okteto|garden install|upgrade|apply|sync|destroy|deploy|delete|
        rollback|converge|purge|down|dismiss|prune|run !--dry-run|--help|-h|--render-only
    docker|podman|nerdctl swarm|service|stack|node|secret|plugin|network|compose|volume|context leave|init|scale|update|rm|remove|
        deploy|rollback|promote|demote|install|disable|disconnect|prune|kill|stop|restart|down|pause|ca|create-secret
    docker|podman|nerdctl kill|stop|restart|pause|rename|update
    docker-compose|podman-compose down|rm|stop|kill|restart|pause
    ctr|crictl|skopeo|crane|regctl|oras|buildah rm|rmi|delete|rmp|stopp|stop|kill|copy|push|tag|prune|sync
    packer build
    nixops|colmena|morph|kamal|mina|dep|deployer|shipit|captain|caprover deploy|apply|destroy|rollback|remove|reboot|delete|stop
    knife|mco|salt-run|salt-key|rundeck|rd|awx|bolt|puppet|chef-client|chef-solo|hammer delete|remove|bulk|-d|-D|-A|run|launch|apply|
        ssh|bootstrap|clean|-o|-z
    esxcli|vim-cmd|govc|xe|pvesh|ha-manager|iocage|bastille|ezjail-admin delete|destroy|remove|stop|shutdown|reboot|set|create|
        vmsvc/destroy|vmsvc/power.off|vmsvc/unregister|vm.destroy|vm-destroy|vm-shutdown|vm-uninstall|system
moves money:
    bitcoin-cli|litecoin-cli|dogecoin-cli|zcash-cli|dash-cli|elements-cli|bch-cli sendtoaddress|send|sendmany|sendrawtransaction|
        sendall|dumpprivkey|dumpwallet|importprivkey|walletpassphrase|encryptwallet|bumpfee|z_sendmany|stop|backupwallet
    monero-wallet-cli|electrum|electron-cash|wasabi transfer|sweep_all|payto|paytomany|broadcast|sweep|send|getprivatekeys|getseed
    lncli|lightning-cli|phoenix-cli|eclair-cli payinvoice|sendpayment|sendcoins|pay|keysend|closechannel|closeallchannels|close|
        withdraw|openchannel|fundchannel|xpay
    cast|forge|geth|seth|ethdo|hardhat|truffle|brownie|foundry send|publish|broadcast|--broadcast|deploy|migrate|create|
        account|wallet|exit !--dry-run|--help|list
    solana|spl-token|near|near-cli|sui|aptos|starkli|cardano-cli|octez-client|gaiad|cleos|goal|xrpl|stellar|tonos-cli|flow|
        polkadot-js-api|avalanche transfer|send|pay|burn|mint|approve|set-authority|stake|delegate|delegate-stake|unstake|push|
        deploy|submit|withdraw-stake|close|authorize|tx|client|move|publish|program
    stripe|paypal|adyen|mollie|wise|revolut|coinbase charges|refunds|payouts|transfers|payment_intents|subscriptions|invoices|
        topups|customers|post|delete|create|send|pay
changes a Mac:
    tccutil|profiles reset|remove|renew|install|-R|-I
    fdesetup|mdutil|systemsetup|scutil|sysadminctl|dsenableroot enable|disable|removeuser|-E|-d|-i|-set*|-setremotelogin|--set|
        -deleteUser|-addUser|-resetPasswordFor|-adminUser|changerecovery|-setsleep|-setcomputersleep
    softwareupdate -i|-ia|--install|--installAll
    xcrun simctl delete|erase|shutdown
    blueutil --power|-p|--unpair
    socketfilterfw --setglobalstate|--setblockall|--unblockapp
    dscl -append|-create|-delete|-passwd|-change|-merge|append|create|delete|passwd|change
    kmutil|kextunload|kextload load|unload
CLOUD:
    aws|aws2|awslocal|gcloud|az|aliyun|tccli|oci|ibmcloud|hcloud|scw|doctl|linode-cli|vultr-cli|upctl|exo|civo|openstack|ovhcloud|
        huaweicloud|hcloud|yc|metal|kamatera|contabo|heroku|fly|flyctl|railway|render|koyeb|scalingo|clever|dokku|cf|eksctl|kops|
        rosa|databricks|snow|auth0|okta|stripe|twilio|flarectl|cloudflare|fastly|wrangler|firebase|supabase|neonctl|pscale|turso|
        atlas|mongocli|ccloud|confluent|aiven|avn|argocd|flux|velero|istioctl|linkerd|nomad|consul|boundary|rancher|databricks|
        newrelic|datadog-ci|pagerduty|opsgenie|sentry-cli|launchdarkly|ldcli|mgc|m365|pnp|gam|gamadv-xtd3|jamf|intune|netlify|vercel
writes into a chip:
    esptool|esptool.py|avrdude|openocd|st-flash|st-util|dfu-util|rkdeveloptool|heimdall|nrfjprog|picotool|pyocd|JLinkExe|odin4|edl
        -U|erase_flash|write_flash|-D|-c|write|erase|flash|--eraseall|--program|load|wl|-e|w|reset|--recover
changes infrastructure:
    pulumi up|update|refresh|cancel !--preview|preview
"""
