"""Credentials that carry their issuer's mark. Data: mark, shape after it, where the shape is documented.

A text is cut into long runs of token characters once; only a run that begins
with a mark is looked at closer, so hundreds of marks cost no more than one.
"""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.plausible import is_generated
from server.policy.redaction.spans import Span

_PROVIDERS: Final = """
# kind                mark                          what follows the mark                          source
aws_access_key        AKIA|ASIA|ABIA|ACCA           [A-Z0-9]{16}(?![A-Za-z0-9])                    docs.aws.amazon.com, IAM identifiers
aws_bedrock_key       ABSK                          [A-Za-z0-9+/]{100,}={0,2}                      docs.aws.amazon.com, Bedrock API keys
gcp_api_key           AIza                          [\\w-]{30,}                                    cloud.google.com, API keys
google_oauth          ya29.                         [\\w.-]{20,}                                   developers.google.com, OAuth 2.0
google_secret         GOCSPX-                       [\\w-]{20,}                                    developers.google.com, OAuth clients
github_token          ghp_|gho_|ghu_|ghs_|ghr_      [A-Za-z0-9]{30,}                               github.blog, token formats
github_token          github_pat_                   \\w{40,}                                       github.blog, token formats
gitlab_token          glpat-|gldt-|glrt-|glcbt-|glptt-|glft-|glsoat-|glffct-|gloas-|glagent-|glimt- [\\w.-]{16,} docs.gitlab.com, token overview
atlassian_token       ATATT3|ATCTT3|ATBB|BBDC-|ATOA [\\w=+/-]{16,}                                 developer.atlassian.com
slack_token           xoxb-|xoxp-|xoxa-|xoxr-|xoxs-|xoxe-|xoxe.xox|xoxc-|xoxd-|xapp- [\\w.%-]{16,}  api.slack.com, token types
stripe_key            sk_live_|sk_test_|rk_live_|rk_test_|whsec_ [A-Za-z0-9]{14,}                  docs.stripe.com, API keys
paypal_token          access_token$production$      [a-z0-9$]{30,}                                 developer.paypal.com
square_token          sq0atp-|sq0csp-|sq0idp-|EAAAE|EAAAl [\\w-]{22,}                              developer.squareup.com
shopify_token         shpat_|shpss_|shpca_|shppa_|shpua_ [a-fA-F0-9]{20,}                          shopify.dev, access tokens
openai_key            sk-proj-|sk-svcacct-|sk-admin-|sk-None- [\\w-]{20,}                          platform.openai.com
anthropic_key         sk-ant-                       [\\w-]{20,}                                    docs.anthropic.com
openrouter_key        sk-or-                        [\\w-]{20,}                                    openrouter.ai
langfuse_key          sk-lf-                        [\\w-]{20,}                                    langfuse.com
api_key               sk-                           (?=[A-Za-z-]*\\d)[A-Za-z0-9]{20,}              the shape many took from OpenAI's first keys
huggingface_token     hf_|api_org_                  [A-Za-z0-9]{28,}                               huggingface.co, tokens
replicate_token       r8_                           [A-Za-z0-9]{30,}                               replicate.com
groq_key              gsk_                          [A-Za-z0-9]{30,}                               console.groq.com
xai_key               xai-                          [A-Za-z0-9_-]{30,}                             docs.x.ai
perplexity_key        pplx-                         [A-Za-z0-9]{30,}                               docs.perplexity.ai
nvidia_key            nvapi-                        [\\w-]{30,}                                    build.nvidia.com
langsmith_key         lsv2_pt_|lsv2_sk_             \\w{30,}                                       docs.smith.langchain.com
tavily_key            tvly-                         [\\w-]{16,}                                    tavily.com
pinecone_key          pcsk_                         \\w{30,}                                       docs.pinecone.io
jina_key              jina_                         [A-Za-z0-9]{30,}                               jina.ai
fireworks_key         fw_                           [A-Za-z0-9]{20,}                               fireworks.ai
cerebras_key          csk-                          [a-z0-9]{30,}                                  cerebras.ai
elevenlabs_key        sk_                           [a-f0-9]{48}                                   elevenlabs.io
assemblyai_key        fc-                           [a-f0-9]{32}                                   firecrawl.dev
runpod_key            rpa_                          [A-Z0-9]{30,}                                  runpod.io
modal_token           ak-|as-                       [A-Za-z0-9]{22}(?![\\w-])                      modal.com
npm_token             npm_                          [A-Za-z0-9]{30,}                               docs.npmjs.com
pypi_token            pypi-                         (?=\\w*\\d)[\\w-]{40,}                         pypi.org/help
rubygems_key          rubygems_                     [a-f0-9]{40,}                                  guides.rubygems.org
crates_token          cio                           [A-Za-z0-9]{32}(?![\\w])                       crates.io
nuget_key             oy2                           [a-z0-9]{43}                                   learn.microsoft.com, NuGet
docker_token          dckr_pat_|dckr_oat_           [\\w-]{20,}                                    docs.docker.com
digitalocean_token    dop_v1_|doo_v1_|dor_v1_       [a-f0-9]{40,}                                  docs.digitalocean.com
heroku_key            HRKU-                         [\\w-]{30,}                                    devcenter.heroku.com
fly_token             fo1_|fm1_|fm1a_|fm1r_|fm2_    [\\w+/=-]{20,}                                 fly.io/docs
netlify_token         nfp_|nfc_|nfo_|nfu_           [A-Za-z0-9]{30,}                               docs.netlify.com
vercel_token          vcp_|vci_|vca_|vcr_|vck_|vercel_blob_rw_ \\w{20,}                            vercel.com
render_key            rnd_                          [A-Za-z0-9]{20,}                               render.com
cloudflare_key        v1.0-                         [a-f0-9]{24}-[a-f0-9]{100,}                    developers.cloudflare.com
cloudflare_token      cfut_|cfat_|cfk_              \\w{30,}                                       developers.cloudflare.com
hetzner_token         hcloud_                       [A-Za-z0-9]{30,}                               docs.hetzner.com
scaleway_key          scw_                          [a-z0-9-]{30,}                                 scaleway.com
sentry_token          sntrys_|sntryu_|sntrya_       [\\w+/=-]{20,}                                 docs.sentry.io
grafana_token         glsa_|glc_                    [\\w+/=-]{20,}                                 grafana.com/docs
newrelic_key          NRAK-|NRII-|NRAA-|NRRA-       [A-Za-z0-9_-]{20,}                             docs.newrelic.com
datadog_key           ddapp_|ddapi_                 [A-Za-z0-9]{20,}                               docs.datadoghq.com
dynatrace_token       dt0c01.|dt0s01.|dt0s16.       [A-Z0-9.]{20,}                                 docs.dynatrace.com
honeycomb_key         hcaik_|hcxik_|hcxlk_          [a-z0-9]{20,}                                  docs.honeycomb.io
posthog_key           phx_|phs_                     [A-Za-z0-9]{30,}                               posthog.com
supabase_token        sbp_|sb_secret_               \\w{20,}                                       supabase.com/docs
neon_key              napi_                         [a-z0-9]{30,}                                  neon.tech
planetscale_token     pscale_tkn_|pscale_pw_|pscale_oauth_ [\\w=.-]{20,}                           planetscale.com
prisma_key            prisma_                       \\w{30,}                                       prisma.io
databricks_token      dapi|dkea|dose                [a-f0-9]{32}(?:-\\d)?                          docs.databricks.com
snyk_token            snyk_uat.|snyk_sat.           [\\w.-]{20,}                                   docs.snyk.io
sonar_token           sqp_|sqa_|squ_                [a-f0-9]{40}                                   docs.sonarsource.com
hashicorp_vault       hvs.|hvb.|hvr.                [\\w-]{20,}                                    developer.hashicorp.com
terraform_token       at-                           [\\w]{14}\\.atlasv1\\.[\\w-]{30,}              developer.hashicorp.com
pulumi_token          pul-                          [a-f0-9]{40}                                   pulumi.com
doppler_token         dp.pt.|dp.st.|dp.ct.|dp.sa.|dp.scim.|dp.audit. [\\w.-]{30,}                  docs.doppler.com
onepassword_token     ops_eyJ                       [\\w=-]{50,}                                   developer.1password.com
onepassword_key       A3-                           [A-Z0-9]{6}-(?:[A-Z0-9]{6}-[A-Z0-9]{5}|[A-Z0-9]{11})(?:-[A-Z0-9]{5}){3} support.1password.com
age_key               AGE-SECRET-KEY-1              [A-Z0-9]{50,}                                  age-encryption.org
tailscale_key         tskey-                        [A-Za-z0-9-]{16,}                              tailscale.com/kb
okta_token            00                            (?=[\\w-]*[A-Z])(?=[\\w-]*[a-z])(?!\\d{6})[\\w-]{40}(?![\\w-]) developer.okta.com
notion_token          ntn_|secret_                  [A-Za-z0-9]{40,}                               developers.notion.com
linear_key            lin_api_|lin_oauth_           [A-Za-z0-9]{30,}                               developers.linear.app
figma_token           figd_|figo_|figu_             [\\w-]{30,}                                    figma.com/developers
postman_key           PMAK-                         [a-f0-9]{20,}-[a-f0-9]{30,}                    learning.postman.com
mapbox_token          sk.eyJ|tk.eyJ                 [\\w.-]{20,}                                   docs.mapbox.com
facebook_token        EAA                           (?=[A-Za-z]*\\d)[A-Za-z0-9]{60,}               developers.facebook.com
instagram_token       IGQV|IGQW|IGAA                [\\w-]{60,}                                    developers.facebook.com
airtable_token        pat                           [A-Za-z0-9]{14}\\.[a-f0-9]{64}                 airtable.com/developers
hubspot_key           pat-na1-|pat-eu1-             [a-f0-9-]{30,}                                 developers.hubspot.com
sendgrid_key          SG.                           [\\w-]{16,}\\.[\\w-]{30,}                      docs.sendgrid.com
mailgun_key           key-                          [a-f0-9]{32}(?![a-f0-9])                       documentation.mailgun.com
brevo_key             xkeysib-|xsmtpsib-            [a-f0-9]{40,}[\\w-]*                                 developers.brevo.com
resend_key            re_                           (?=\\w*\\d)[A-Za-z0-9]{6,}_[A-Za-z0-9]{20,}    resend.com
postmark_key          PMAT-|PMBR-                   [\\w-]{20,}                                    postmarkapp.com
twilio_key            SK                            [a-f0-9]{32}(?![A-Za-z0-9])                    twilio.com/docs
telnyx_key            KEY0                          [A-Z0-9]{20,}_[A-Za-z0-9]{16,}                 developers.telnyx.com
razorpay_key          rzp_live_|rzp_test_           [A-Za-z0-9]{14,}                               razorpay.com
adyen_key             AQE                           [A-Za-z0-9]{3}[\\w+/=-]{60,}                   docs.adyen.com
plaid_token           access-production-|access-sandbox-|access-development- [a-f0-9-]{36}         plaid.com/docs
easypost_key          EZAK|EZTK                     [A-Za-z0-9]{50,}                               easypost.com
shippo_key            shippo_live_|shippo_test_     [a-f0-9]{40}                                   goshippo.com
duffel_key            duffel_live_|duffel_test_     [\\w=-]{40,}                                   duffel.com
lob_key               live_|test_                   [a-f0-9]{35}(?![a-f0-9])                       docs.lob.com
dropbox_token         sl.                           [\\w-]{60,}                                    dropbox.com/developers
contentful_token      CFPAT-                        [\\w-]{40,}                                    contentful.com
prefect_key           pnu_|pnb_                     [A-Za-z0-9]{30,}                               docs.prefect.io
buildkite_token       bkua_|bkct_|bkpat_            \\w{30,}                                       buildkite.com
circleci_token        CCIPAT_|CCIPRJ_               \\w{20,}                                       circleci.com
launchdarkly_key      sdk-|api-                     [a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[a-f0-9]{4}-[a-f0-9]{12} docs.launchdarkly.com
sourcegraph_token     sgp_|slk_|sgd_                [a-fA-F0-9_]{40,}                              sourcegraph.com
vault_token           s.                            (?=[A-Za-z]*\\d)[A-Za-z0-9]{20,24}(?![\\w.-])               developer.hashicorp.com, before 1.10
openshift_token       sha256~                       [\\w-]{40,}                                    docs.openshift.com
matrix_token          syt_|mat_|mct_|mcr_           [\\w-]{20,}                                    matrix-org.github.io, Synapse
mattermost_hook       zapier_                       [\\w]{30,}                                     zapier.com
bitwarden_token       0.                            [a-f0-9-]{36}\\.[A-Za-z0-9]{30}:[\\w+/=]{20,}  bitwarden.com
flutterwave_key       FLWSECK-|FLWSECK_TEST-        [A-Za-z0-9-]{12,}                              flutterwave.com
paystack_key          sk_live_|sk_test_             [a-f0-9]{40}                                   paystack.com
clerk_key             sk_live_|sk_test_             [\\w=]{30,}                                    clerk.com
algolia_key           alg_                          [a-f0-9]{32}                                   algolia.com
discord_token         MT|MD|MJ|Mz|Nz|Nj|OD|OT|ND|NT [\\w-]{20,26}\\.[\\w-]{6}\\.[\\w-]{27,}        discord.com/developers
fcm_key               AAAA                          [\\w-]{7}:APA91b[\\w-]{100,}                   firebase.google.com
pgp_private           xprv|yprv|zprv                [A-Za-z0-9]{100,}                              BIP 32, extended private keys
backblaze_key         K00                           \\d[A-Za-z0-9+/]{22,}                          backblaze.com/docs
twitter_token         AAAAAAAAAAAAAAAAAAAA          [\\w%]{60,}                                   developer.x.com, bearer tokens
intercom_token        dG9rO                         [A-Za-z0-9+/]{30,}={0,2}                       developers.intercom.com
alibaba_key           LTAI                          [A-Za-z0-9]{12,30}(?![\\w-])                   alibabacloud.com/help, AccessKey
tencent_key           AKID                          [A-Za-z0-9]{32}(?![\\w-])                      cloud.tencent.com, API keys
clojars_token         CLOJARS_                      [a-zA-Z0-9]{30,}                               clojars.org
typeform_token        tfp_                          [\\w.=-]{30,}                                  typeform.com/developers
paseto                v2.local.|v3.local.|v4.local.|v1.local. [\\w-]{40,}                            paseto.io
nostr_key             nsec1                         [a-z0-9]{50,}                                  nostr NIP-19
adafruit_key          aio_                          [A-Za-z0-9]{24,}                               learn.adafruit.com
apify_token           apify_api_                    [A-Za-z0-9]{30,}                               docs.apify.com
axiom_token           xaat-|xapt-                   [a-f0-9-]{30,}                                 axiom.co/docs
cloudinary_url        cld_                          [A-Za-z0-9]{30,}                               cloudinary.com
defined_key           dnkey-                        [\\w=-]{40,}                                   defined.net
deno_token            ddp_|ddo_                     [A-Za-z0-9]{30,}                               docs.deno.com
e2b_key               e2b_                          [a-f0-9]{30,}                                  e2b.dev
elastic_token         essu_                         [\\w=]{40,}                                    elastic.co
expo_key              os_v2_app_                    [a-z0-9]{40,}                                  onesignal.com
frameio_token         fio-u-                        [\\w=-]{40,}                                   developer.frame.io
gocardless_token      live_|sandbox_                [\\w=-]{40}(?![\\w-])                          developer.gocardless.com
honeybadger_token     hbp_                          [A-Za-z0-9]{30,}                               docs.honeybadger.io
infracost_key         ico-                          [A-Za-z0-9]{32}                                infracost.io
jfrog_token           AKCp|cmVmdGtu                 [A-Za-z0-9]{50,}                               jfrog.com/help
mailersend_key        mlsn.                         [a-f0-9]{40,}                                  developers.mailersend.com
mercadopago_token     APP_USR-                      \\d{10,}-\\d{6}-[a-f0-9]{32}                   mercadopago.com/developers
mollie_key            live_|test_                   [A-Za-z0-9]{30}(?![\\w-])                      docs.mollie.com
mongodb_secret        mdb_sa_sk_                    [\\w-]{30,}                                    mongodb.com/docs
paddle_key            pdl_live_|pdl_sdbx_           \\w{40,}                                       developer.paddle.com
pubnub_key            sec-c-                        [A-Za-z0-9=]{40,}                              pubnub.com/docs
readme_key            rdme_                         [a-z0-9]{60,}                                  docs.readme.com
settlemint_token      sm_aat_|sm_pat_|sm_sat_       [A-Za-z0-9]{16}                                settlemint.com
sourcegraph_key       sgamp_                        \\w{40,}                                       sourcegraph.com
trello_token          ATTA                          [a-f0-9]{60,}                                  developer.atlassian.com, Trello
vk_token              vk1.a.                        [\\w-]{60,}                                    dev.vk.com
voyage_key            pa-                           [A-Za-z0-9_-]{40,}                             docs.voyageai.com
woocommerce_key       ck_|cs_                       [a-f0-9]{40}(?![\\w])                          woocommerce.com/document
xendit_key            xnd_production_|xnd_development_ [A-Za-z0-9]{30,}                            docs.xendit.co
yandex_key            AQVN|y0_|t1.                  [\\w=.-]{35,}                                  yandex.cloud/docs
anyscale_key          esecret_                      [a-z0-9]{20,}                                  anyscale.com
brave_key             BSA                           [\\w-]{27}(?![\\w-])                           api.search.brave.com
browserbase_key       bb_live_|bb_test_             [\\w-]{20,}                                    docs.browserbase.com
bitrise_token         sec_                          [\\w-]{40,}                                    devcenter.bitrise.io
adobe_secret          p8e-                          [a-z0-9]{32}(?![a-z0-9])                       developer.adobe.com
clickhouse_key        4b1d                          [A-Za-z0-9]{38}(?![\\w])                       clickhouse.com/docs
gitlab_runner         GR1348941                     [\\w-]{20}                                     docs.gitlab.com, runners
grafana_key           eyJrIjoi                      [A-Za-z0-9]{50,}={0,2}                         grafana.com/docs, keys before 9
harness_token         pat.|sat.                     [\\w-]{22}\\.[a-f0-9]{24}\\.[\\w-]{20}         developer.harness.io
intra42_secret        s-s4t2ud-|s-s4t2af-           [a-f0-9]{64}                                   api.intra.42.fr
newrelic_key          NRJS-                         [a-f0-9]{19}                                   docs.newrelic.com
octopus_key           API-                          [A-Z0-9]{26,}(?![A-Za-z0-9])                   octopus.com/docs
scalingo_token        tk-us-                        [\\w-]{48}                                     doc.scalingo.com
together_key          tgp_v1_                       [\\w-]{40,}                                    docs.together.ai
helicone_key          sk-helicone-                  [a-z0-9-]{14,}                                 docs.helicone.ai
wandb_key             wandb_v1_                     \\w{40,}                                       docs.wandb.ai
polar_token           polar_oat_|polar_pat_         \\w{30,}                                       docs.polar.sh
clickup_token         pk_                           \\d{5,10}_[A-Z0-9]{32}                         developer.clickup.com
jsr_token             jsrp_                         [A-Za-z0-9]{30,}                               jsr.io/docs
netbird_token         nbp_                          [A-Za-z0-9]{30,}                               docs.netbird.io
segment_token         sgp_                          [A-Za-z0-9]{64}                                segment.com/docs
growthbook_key        secret_admin_|secret_readonly_ \\w{20,}                                       docs.growthbook.io
infisical_token       st.                           [a-f0-9]{24}\\.[a-f0-9]{32}\\.[a-f0-9]{32}     infisical.com/docs
dashlane_key          dls_                          \\w{30,}                                       dashlane.com/help
facebook_token        EAACEdEose0cBA                [A-Za-z0-9]{20,}                               developers.facebook.com
aiven_password        AVNS_                         [\\w-]{18,}                                    aiven.io/docs
cockroach_key         CCDB1_                        [A-Za-z0-9]{20,}_[A-Za-z0-9]{30,}              cockroachlabs.com/docs
aikido_token          AIK_                          \\w{30,}                                       help.aikido.dev
persona_key           persona_production_|persona_sandbox_ [a-f0-9-]{36}                                  docs.withpersona.com
porkbun_key           pk1_|sk1_                     [a-f0-9]{64}                                   porkbun.com/api
dnsimple_token        dnsimple_a_|dnsimple_u_       [A-Za-z0-9]{24,}                               developer.dnsimple.com
healthchecks_key      hcw_|hcr_                     [A-Za-z0-9]{24,}                               healthchecks.io/docs
dropbox_token         sl.u.                         [\\w-]{60,}                                    dropbox.com/developers
swarm_unlock_key      SWMKEY-1-                     [A-Za-z0-9+/]{40,}                             docs.docker.com, swarm mode
cloudflare_tunnel     eyJhIjoi                      [\\w-]{60,}=*                                   developers.cloudflare.com, tunnels
phoenix_token         SFMyNTY.                      [\\w-]{10,}\\.[\\w-]{20,}                         hexdocs.pm, Phoenix.Token
lnd_macaroon          0201036c6e64                  [a-f0-9]{40,}                                  docs.lightning.engineering
nats_seed             SUA|SAA|SOA|SNA|SCA           [A-Z2-7]{55}(?![A-Z0-9])                       docs.nats.io, nkeys
swarm_token           SWMTKN-1-                     [a-z0-9-]{40,}                                 docs.docker.com, swarm mode
ngrok_token           cr_                           [A-Za-z0-9_]{40,}                              ngrok.com
"""


def _read(table: str) -> dict[str, list[tuple[str, str, re.Pattern[str]]]]:
    """By the first two characters of the mark."""
    found: dict[str, list[tuple[str, str, re.Pattern[str]]]] = {}
    for line in table.strip().splitlines():
        if line.startswith("#"):
            continue
        kind, marks, shape, _source = line.split(None, 3)
        for mark in marks.split("|"):
            found.setdefault(mark[:2], []).append((mark, kind, re.compile(re.escape(mark) + f"(?:{shape})")))
    return found


_BY_START: Final = _read(_PROVIDERS)
_MARKS: Final = {start: tuple(mark for mark, _, _ in marks) for start, marks in _BY_START.items()}
_SHAPES: Final = {
    # credentials without a mark, known by their shape: by length
    29: ("product_key", re.compile(r"(?=[A-Z-]*\d)(?=[\d-]*[A-Z])[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}\Z")),  # five times five
    55: ("recovery_key", re.compile(r"\d{6}(?:-\d{6}){7}\Z")),  # learn.microsoft.com, BitLocker
    23: (
        "kubeadm_token",
        re.compile(r"(?=[a-z]*\d)[a-z0-9]{6}\.(?=[a-z]*\d)[a-z0-9]{16}\Z"),
    ),  # kubernetes.io, bootstrap tokens
    50: ("mailgun_key", re.compile(r"[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}\Z")),  # documentation.mailgun.com
    51: ("wallet_key", re.compile(r"5[HJK][1-9A-HJ-NP-Za-km-z]{49}\Z")),  # Bitcoin, wallet import format
    52: ("wallet_key", re.compile(r"[KL][1-9A-HJ-NP-Za-km-z]{51}\Z")),
}
_MASK: Final = re.compile(r"[xX*]{8}|(?:0123456789|1234567890)(?:abcdef|ABCDEF|12)")
_SPEAKING: Final = re.compile(
    # credentials that say themselves what they are, whoever issued them: api_live_…, tok-…
    r"(?:[a-z]{2,12}[-_])?(?:tok|key|secret|token|sk|pat|apikey|live|prod|production|sandbox)[-_](?=[A-Za-z]*\d)(?P<s>[A-Za-z0-9]{20,64})\Z"
)
_LEAST_SPEAKING: Final = len("sk-") + 20
_SPEAKING_LOW: Final = re.compile(r"(?=(?:\D*\d){4})[a-z0-9]{24,64}\Z")
_ESCAPES: Final = frozenset("nrt")
_JWT: Final = re.compile(
    r"eyJ[\w-]{10,}\.(?:[\w-]{10,}(?:\.[\w-]{8,}){1,3}|eyJ[\w-]{10,}\.?|\.[\w-]{8,}\.[\w-]{10,}\.[\w-]{10,})"
)  # RFC 7519 and 7516


_EDGE: Final = "_-.~$"


def provider_spans(page: Page) -> Iterator[Span]:
    for run, places in page.long_words.items():
        if _may_be_one(run):
            for start in places:
                yield from _spans_of(page.text, run, start)


def _spans_of(text: str, run: str, start: int) -> Iterator[Span]:
    # the n of an escaped line break is none of the mark
    skip = 1 if run[0] in _ESCAPES and text[max(0, start - 1) : start] == "\\" else 0
    skip += len(run) - skip - len(run[skip:].lstrip(_EDGE))
    for _, kind, pattern in _BY_START.get(run[skip : skip + 2], ()):
        if (match := pattern.match(text, start + skip)) and not _MASK.search(match[0]):
            yield Span(start + skip, match.end() - _full_stops(match[0]), kind)
            break
    else:
        if (speaking := _SPEAKING.match(run, skip)) and (
            is_generated(speaking["s"]) or _SPEAKING_LOW.match(speaking["s"])
        ):
            yield Span(start + skip, start + len(run), "api_key")
    if (known := _kind_by_shape(run)) is not None:
        yield Span(start, start + len(run), known)
    if (at := run.find("eyJ")) >= 0 and (token := _JWT.match(text, start + at)):
        yield Span(token.start(), token.end(), "jwt")


def _may_be_one(word: str) -> bool:
    return (
        _begins_with_mark(word)
        or (word[0] in _EDGE and _begins_with_mark(word.lstrip(_EDGE)))
        or (word[0] in _ESCAPES and _begins_with_mark(word[1:].lstrip(_EDGE)))
        or "eyJ" in word
        or _kind_by_shape(word) is not None
        or (len(word) >= _LEAST_SPEAKING and _SPEAKING.match(word) is not None)
    )


def _kind_by_shape(word: str) -> str | None:
    kind, shape = _SHAPES.get(len(word), ("", None))
    return kind if shape is not None and shape.match(word) else None


def _begins_with_mark(word: str) -> bool:
    marks = _MARKS.get(word[:2])
    return marks is not None and word.startswith(marks)


def _full_stops(value: str) -> int:
    """How many signs at the end belong to the sentence."""
    return len(value) - len(value.rstrip(".-"))
