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
changes files:
    git am|apply --reject-x
changes what runs:
    kubectl|oc|k rollout undo|restart
    wp-cli|mix|composer|bundle deploy|self-update|--delete
"""
