import type { Reason, reasons } from '../../src/api/v1alpha1/reasons.ts';

type KindOf<R extends Reason> = (typeof reasons)[R]['kind'];
/** The reasons that ask something of a person, or wait for something outside the operator. */
export type ProblemReason = {
  [R in Reason]: KindOf<R> extends 'retryable' | 'terminal' ? R : never;
}[Reason];

/** What usually leads to a reason, and the command that shows whether it is that. */
export type Cause = readonly [cause: string, command: string];

export interface ReasonHelp {
  /** A message as the operator writes it. */
  readonly example: string;
  /** The most frequent first. */
  readonly causes: readonly [Cause, ...Cause[]];
  /** A change of a manifest, as lines that begin with `+`, `-` or a space. */
  readonly fix?: string;
}

const INSTANCE = 'kubectl get gpui NAME -n NAMESPACE';
const ACCOUNT = 'kubectl get gpuacct NAME -n NAMESPACE';
const GROUP = 'kubectl get epg NAME -n NAMESPACE';
const OPERATOR_LOG = 'kubectl logs -n gpu-rental-system deployment/gpu-rental-operator';
const LOG = 'gpu-rent logs gpui/NAME -n NAMESPACE';
const EXPLAIN = 'gpu-rent explain gpui/NAME -n NAMESPACE';
const EXPLAIN_GROUP = 'gpu-rent explain epg/NAME -n NAMESPACE';
const HISTORY = `${INSTANCE} -o jsonpath='{.status.history}'`;
const DOCTOR = 'gpu-rent doctor';
const WORKERS = 'kubectl get gpui -n NAMESPACE -l gpurental.dev/endpoint-group=NAME -o wide';
const SECRET_KEYS = 'kubectl describe secret SECRET -n NAMESPACE';
const MACHINES = 'gpu-rent list instances';

/** By reason: an example, its causes, the fix. Every reason that is `retryable` or `terminal` has an entry. */
export const reasonHelp: Readonly<Record<ProblemReason, ReasonHelp>> = {
  PortsNotMapped: {
    example: 'Port 8080 of spec.ports has no public port on machine 20000006.',
    causes: [
      ['The host has fewer direct ports than the object needs', 'gpu-rent show instance ID'],
      ['The image does not listen, so the host maps nothing', LOG],
    ],
    fix: ' spec:\n   offers:\n     - gpuNames: [RTX 4090]\n+      minDirectPorts: 2',
  },
  ProbeFailing: {
    example:
      "Port 8080 does not answer. Look at the container's log, and check the port and path of spec.readinessProbe.",
    causes: [
      ['The program still starts, or failed to', LOG],
      ['It listens on 127.0.0.1 instead of 0.0.0.0', 'gpu-rent ssh gpui/NAME -n NAMESPACE -- ss -ltn'],
      [
        'The probe names another port or path than the program',
        `${INSTANCE} -o jsonpath='{.spec.readinessProbe}'`,
      ],
    ],
    fix: ' spec:\n   readinessProbe:\n     httpGet:\n-      path: /\n+      path: /health\n       port: http',
  },
  ReconcileError: {
    example: 'Reconciling fails: TypeError in decide. It is retried with backoff.',
    causes: [
      [
        'A fault of the operator, which its log names with a stack',
        `${OPERATOR_LOG} | grep '"level":"error"'`,
      ],
      ['A field that an older or newer operator wrote', `${INSTANCE} -o yaml`],
    ],
  },
  ProbeError: {
    example: 'The readiness probe cannot be sent: header "X Y" has a space in its name.',
    causes: [
      ['A header or path that HTTP does not allow', `${INSTANCE} -o jsonpath='{.spec.readinessProbe}'`],
    ],
  },
  Exited: {
    example: 'The container ended. Another machine is rented after two polls.',
    causes: [
      ['The program in spec.onStart or the image ended, with success or an error', LOG],
      ['Out of memory: the log ends without an error', 'gpu-rent show instance ID'],
      ['Every machine ends the same way, so the image is at fault', HISTORY],
    ],
    fix: ' spec:\n   onStart: |\n-    ./train.sh\n+    ./train.sh; sleep infinity   # keep the container after the work',
  },
  HostOffline: {
    example: 'The host of machine 20000006 lost its connection to the marketplace 40s ago.',
    causes: [
      ['One host failed', `${HISTORY}`],
      ['Many hosts at once: an outage of the marketplace', 'kubectl get gpui -A | grep HostOffline'],
    ],
  },
  HostSilent: {
    example: 'The host of machine 20000006 has sent no heartbeat for 2m.',
    causes: [
      ['One host failed', 'gpu-rent show instance ID'],
      ['Many hosts at once: an outage of the marketplace', 'kubectl get gpui -A | grep HostSilent'],
    ],
  },
  Vanished: {
    example: 'Machine 20000006 was destroyed, and not by this operator.',
    causes: [
      [
        "A person destroyed it in the marketplace's console",
        'kubectl get events -n NAMESPACE --field-selector reason=Vanished',
      ],
      [
        'The marketplace ended it because the credit was used up',
        `${ACCOUNT} -o jsonpath='{.status.credit}'`,
      ],
    ],
    fix: ' spec:\n+  onVanish: Hold   # report it instead of renting another',
  },
  VanishedHeld: {
    example: 'Machine 20000006 was destroyed, and not by this operator; spec.onVanish is Hold.',
    causes: [['As Vanished; spec.onVanish asks you before another is rented', HISTORY]],
    fix: ' spec:\n-  onVanish: Hold\n+  onVanish: Recreate',
  },
  ProvisioningTimedOut: {
    example: 'The machine was not provisioned within spec.timeouts.provisioning (5m). Another is rented.',
    causes: [
      ['One slow host', HISTORY],
      ['Every host: spec.timeouts.provisioning is too short', `${INSTANCE} -o jsonpath='{.spec.timeouts}'`],
    ],
    fix: ' spec:\n   timeouts:\n-    provisioning: 5m\n+    provisioning: 10m',
  },
  LoadingTimedOut: {
    example: 'The image did not load within spec.timeouts.loading (20m). Another machine is rented.',
    causes: [
      ['The image does not exist or is private', 'docker manifest inspect IMAGE'],
      [
        'The image is large for the download rate of the hosts',
        "gpu-rent search offers 'inet_down>=500' --limit 5",
      ],
    ],
    fix: ' spec:\n   timeouts:\n-    loading: 20m\n+    loading: 45m\n   offers:\n     - gpuNames: [RTX 4090]\n+      filters: [{field: inet_down, operator: Gt, value: "500"}]',
  },
  Outbid: {
    example: 'Someone bid more for machine 20000006, so the marketplace stopped it.',
    causes: [['Your bid is below what others pay for this machine now', 'gpu-rent show instance ID']],
    fix: ' spec:\n   offers:\n     - gpuNames: [RTX 4090]\n-      pricing: Interruptible\n+      pricing: OnDemand',
  },
  CannotStart: {
    example:
      'Machine 20000006 did not start within spec.timeouts.start (2m); its GPUs may be rented to someone else.',
    causes: [
      ["Another customer has the machine's GPUs", 'gpu-rent show instance ID'],
      ['The host is slow to start', `${INSTANCE} -o jsonpath='{.spec.timeouts.start}'`],
    ],
  },
  StartUnsupported: {
    example: 'The marketplace has no request that starts a stopped machine.',
    causes: [["This marketplace's profile has no start", `${ACCOUNT} -o jsonpath='{.spec.url}'`]],
    fix: ' spec:\n   replacement:\n-    policy: Never\n+    policy: Always',
  },
  ReplacementOff: {
    example: 'Machine 20000006 ended (Exited), and spec.replacement.policy is Never.',
    causes: [['The machine ended; the history says why', HISTORY]],
    fix: ' spec:\n   replacement:\n-    policy: Never\n+    policy: Always',
  },
  PriceRaised: {
    example: 'The machine costs $0.53/h; its offer said $0.50/h.',
    causes: [
      [
        'The host raised its price between search and rental',
        'kubectl get events -n NAMESPACE --field-selector reason=PriceRaised',
      ],
      ['Storage or traffic is billed besides the GPU', 'gpu-rent show instance ID'],
    ],
    fix: ' spec:\n+  onPriceAbove: Replace   # replaces the machine; its disk is lost',
  },
  DestroyFailing: {
    example: 'Machine 20000006 cannot be destroyed and costs $0.50/h.',
    causes: [
      ['The key was revoked or lost a right', ACCOUNT],
      ['The marketplace does not answer', DOCTOR],
    ],
  },
  NameTaken: {
    example: 'Service llm belongs to another owner.',
    causes: [
      [
        'An object of yours has the name',
        'kubectl get service,secret,endpointslice,configmap NAME -n NAMESPACE',
      ],
      [
        'Another GpuInstance or EndpointGroup has it',
        "kubectl get service NAME -n NAMESPACE -o jsonpath='{.metadata.ownerReferences}'",
      ],
    ],
  },
  AlreadyOwned: {
    example: 'The machine in spec.adopt carries the label of another installation.',
    causes: [
      [
        'Another object claims it',
        'kubectl get gpui -A -o jsonpath=\'{range .items[*]}{.metadata.name} {.status.instanceId}{"\\n"}{end}\'',
      ],
      ['Another cluster rents with the same login', MACHINES],
    ],
  },
  AdoptionNotAllowed: {
    example: 'MarketplaceAccount default does not allow adoption.',
    causes: [['spec.adoption of the account is None', `${ACCOUNT} -o jsonpath='{.spec.adoption}'`]],
    fix: ' kind: MarketplaceAccount\n spec:\n+  adoption: Unlabelled',
  },
  AdoptionTargetMissing: {
    example: 'Machine 4711 is not listed by the marketplace.',
    causes: [
      ['The id is wrong, or the machine is gone', MACHINES],
      ['It belongs to another login', 'gpu-rent show user'],
    ],
  },
  IntentTampered: {
    example:
      'The annotation gpurental.dev/rental-intent was changed by someone else, so nothing is rented or destroyed by it.',
    causes: [
      ['A person or a tool edited the annotation', `${INSTANCE} -o yaml --show-managed-fields`],
      ['The object was copied from another cluster', HISTORY],
    ],
  },
  IntentUnknown: {
    example: 'The annotation gpurental.dev/rental-intent is of version 2, which this operator does not know.',
    causes: [
      [
        'The operator was downgraded',
        "kubectl get deployment gpu-rental-operator -n gpu-rental-system -o jsonpath='{..image}'",
      ],
    ],
  },
  RestoredElsewhere: {
    example: 'Machine 20000006 of its former self (uid aaaa) is still listed.',
    causes: [['A backup was restored while the original machine runs', MACHINES]],
  },
  LabelCopied: {
    example: 'Machine 20000007 carries the label of GpuInstance trainer outside its time. It bills.',
    causes: [["A person copied the label in the marketplace's console", 'gpu-rent orphans']],
  },
  LateRental: {
    example:
      'Machine 20000007 started 12m after its purchase: the marketplace carried the rental out late. It bills $0.30/h.',
    causes: [['The marketplace answered a rental with an error and rented all the same', 'gpu-rent orphans']],
  },
  IdentityLost: {
    example: 'Secret gpu-rental-operator-identity is missing although machines were rented with it.',
    causes: [
      [
        'The Secret or its namespace was deleted',
        'kubectl get secret gpu-rental-operator-identity -n gpu-rental-system',
      ],
      [
        'The operator runs in another namespace than before',
        'kubectl get lease -A --field-selector metadata.name=gpu-rental-operator',
      ],
    ],
  },
  ClusterChanged: {
    example:
      'The identity of this installation belongs to another cluster, so no orphaned machine is destroyed.',
    causes: [
      [
        'The cluster was copied or restored from a backup',
        "kubectl get namespace kube-system -o jsonpath='{.metadata.uid}'",
      ],
    ],
  },
  MassOrphaned: {
    example: '7 of 8 machines lost their GpuInstances at once, more than maxUnhealthy allows.',
    causes: [
      ['Objects were deleted without their finalizers, or the CRDs were', 'kubectl get gpui -A'],
      ['You deleted them on purpose', 'gpu-rent orphans'],
    ],
    fix: ' kind: MarketplaceAccount\n metadata:\n   annotations:\n+    gpurental.dev/confirm-orphans: "2026-11-25T10:00:00Z"   # a new value each time',
  },
  MemoryRolledBack: {
    example:
      'Machines 20000006, 20000007 are younger than every rental on record: the cluster was restored from a backup.',
    causes: [['etcd was restored from a snapshot', MACHINES]],
    fix: ' kind: MarketplaceAccount\n metadata:\n   annotations:\n+    gpurental.dev/confirm-rollback: "2026-11-25T10:00:00Z"   # a new value each time',
  },
  NoOffers: {
    example:
      'No offer matches. No offer has the GPU rtx4090; did you mean RTX 4090? Dropping one requirement would leave: 503 without gpuNames rtx4090.',
    causes: [
      ['The GPU name is not spelled as the marketplace spells it', 'gpu-rent list gpus'],
      ['One requirement excludes everything; the message counts each', 'gpu-rent plan -f FILE'],
      ['Hosts that match are avoided after failures', 'gpu-rent avoid list'],
    ],
    fix: ' spec:\n   offers:\n-    - gpuNames: [rtx4090]\n+    - gpuNames: [RTX 4090, RTX 3090]',
  },
  NoOfferWithinPrice: {
    example:
      'No offer matches. The cheapest costs $0.3102/h; the limit is $0.05. Dropping one requirement would leave: 12 without maxPricePerHour 0.05.',
    causes: [
      ['The limit of the object is below the market', 'gpu-rent plan -f FILE'],
      [
        'The limit of the account is lower than that of the object',
        `${ACCOUNT} -o jsonpath='{.spec.limits}'`,
      ],
    ],
    fix: ' spec:\n   offers:\n     - gpuNames: [RTX 4090]\n-      maxPricePerHour: "0.05"\n+      maxPricePerHour: "0.40"',
  },
  PriceUnknown: {
    example: '3 offers match, and none names its price.',
    causes: [['The marketplace leaves the price out', 'gpu-rent search offers -o json --limit 1']],
    fix: ' spec:\n   offers:\n     - gpuNames: [RTX 4090]\n+      allowUnknownPrice: true',
  },
  NoPriceLimit: {
    example:
      'Neither spec.offers nor the MarketplaceAccount limits the price of a machine, so none is rented.',
    causes: [['No limit is set in either place', `${ACCOUNT} -o jsonpath='{.spec.limits}'`]],
    fix: ' spec:\n   offers:\n     - gpuNames: [RTX 4090]\n+      maxPricePerHour: "0.80"',
  },
  RentalRefused: {
    example:
      'The marketplace refused the rental of offer 100: disk is larger than the host has. Another offer is tried.',
    causes: [
      ['The disk or a port is more than the host has', EXPLAIN],
      ['The image name is invalid for the marketplace', 'gpu-rent plan -f FILE'],
    ],
  },
  InvalidRequest: {
    example: 'The marketplace does not accept the request: env is too large. Nothing was rented.',
    causes: [['A value that only the marketplace checks', 'gpu-rent plan -f FILE']],
  },
  InvalidFilter: {
    example: '"gpu_rma" is no field of an offer: did you mean "gpu_ram"?',
    causes: [['A misspelled field, or a value of the wrong type', 'gpu-rent plan -f FILE']],
    fix: ' spec:\n   offers:\n     - filters:\n-        - {field: gpu_rma, operator: Gt, value: "24"}\n+        - {field: gpu_ram, operator: Gt, value: "24"}',
  },
  RentalUncertain: {
    example:
      'The answer to the rental of offer 100 is missing; nothing else is rented until the lists show whether there is a machine.',
    causes: [
      ['The reply was lost; this ends by itself within minutes', EXPLAIN],
      ['The marketplace cannot be listed', ACCOUNT],
    ],
  },
  ServiceTimeUncertain: {
    example:
      'Replies of the marketplace disagree about the time, so nothing is rented until three in a row agree.',
    causes: [
      ["The node's clock is wrong", `${OPERATOR_LOG} | grep -i clock`],
      ['A proxy answers from a cache', DOCTOR],
    ],
  },
  OldMachineNotGone: {
    example: 'Machine 20000006 of this object is still listed by the marketplace, so no other is rented.',
    causes: [
      ['The destroy is under way', EXPLAIN],
      ['The marketplace lists a machine that it cannot destroy', 'gpu-rent show instance ID'],
    ],
  },
  TooManyRentals: {
    example: '5 machines were rented within an hour, as many as spec.replacement.maxPerHour allows.',
    causes: [
      ['The image ends on every machine', HISTORY],
      ['Hosts fail; their ids differ in the history', 'gpu-rent avoid list'],
    ],
    fix: ' spec:\n   replacement:\n-    maxPerHour: 5\n+    maxPerHour: 10   # only if so many are meant',
  },
  BreakerOpen: {
    example:
      '6 of 8 machines of the account are unhealthy, more than spec.maxUnhealthy allows, so none is replaced.',
    causes: [
      ['An outage of the marketplace', `${ACCOUNT} -o yaml`],
      ['A new image that fails on every machine', 'kubectl get gpui -A -o wide'],
    ],
    fix: ' kind: MarketplaceAccount\n metadata:\n   annotations:\n+    gpurental.dev/close-breaker: "2026-11-25T10:00:00Z"   # replaces one at a time',
  },
  AccountMissing: {
    example: 'MarketplaceAccount team/default does not exist.',
    causes: [
      ['No account of that name, here or shared by another namespace', 'kubectl get gpuacct -A'],
      [
        'The operator does not watch its namespace',
        "kubectl get deployment gpu-rental-operator -n gpu-rental-system -o jsonpath='{..args}'",
      ],
    ],
  },
  AccountNotReady: {
    example: 'The MarketplaceAccount is not ready: the marketplace does not accept the key.',
    causes: [['The reason of the account says which', 'kubectl get gpuacct -A -o wide']],
  },
  NamespaceNotAllowed: {
    example: 'MarketplaceAccount research does not allow namespace team-b.',
    causes: [
      [
        'The account is shared with other namespaces only',
        'kubectl get gpuacct -A -o jsonpath=\'{range .items[*]}{.metadata.name} {.spec.allowedNamespaces}{"\\n"}{end}\'',
      ],
      [
        'The namespace lacks the label that the account selects',
        'kubectl get namespace NAMESPACE --show-labels',
      ],
    ],
    fix: ' kind: MarketplaceAccount\n spec:\n   allowedNamespaces:\n     from: Selector\n     selector:\n       matchLabels:\n+        team: research',
  },
  NotPermitted: {
    example: 'The operator may not get Secret team/key; grant it the verb get.',
    causes: [
      ['The installation watches some namespaces only', DOCTOR],
      [
        'A Role was changed by hand',
        'kubectl auth can-i get secrets -n NAMESPACE --as system:serviceaccount:gpu-rental-system:gpu-rental-operator',
      ],
    ],
  },
  LimitReached: {
    example: 'spec.maxLifetime of 1h is over.',
    causes: [
      [
        'The object lived as long as it may',
        `${INSTANCE} -o jsonpath='{.spec.maxLifetime} {.metadata.creationTimestamp}'`,
      ],
      ['It cost as much as it may', 'gpu-rent cost gpui/NAME -n NAMESPACE'],
    ],
    fix: ' spec:\n-  maxLifetime: 1h\n+  maxLifetime: 8h',
  },
  AccountLimitReached: {
    example: 'limits.maxInstances of 3 leaves no room for another machine.',
    causes: [
      ['Other objects use the account', 'gpu-rent cost -A'],
      ['Retained or orphaned machines count too', 'gpu-rent orphans'],
    ],
    fix: ' kind: MarketplaceAccount\n spec:\n   limits:\n-    maxInstances: 3\n+    maxInstances: 5',
  },
  InsufficientCredit: {
    example: 'The marketplace refuses the rental: insufficient credit.',
    causes: [['The credit is used up', 'gpu-rent show user']],
  },
  SSHKeyMissing: {
    example: 'The spec asks for SSH, and no SSH key is registered for the login.',
    causes: [['The login has no key', 'gpu-rent list ssh-keys']],
  },
  SecretMissing: {
    example: 'Secret team/key does not exist. Create it, or correct spec.apiKeySecretRef.',
    causes: [
      ['It was not created in this namespace', 'kubectl get secret -n NAMESPACE'],
      ['External Secrets or Sealed Secrets has not created it yet', 'kubectl get events -n NAMESPACE'],
    ],
  },
  SecretKeyMissing: {
    example: 'Secret team/key has no key api-key; it has token, user.',
    causes: [['The value is under another key', SECRET_KEYS]],
    fix: ' kind: MarketplaceAccount\n spec:\n   apiKeySecretRef:\n     name: key\n+    key: token',
  },
  SecretInvalid: {
    example: 'Key api-key of Secret team/key is no API key: it has a line break.',
    causes: [
      ['The file ended with more than one line', `${SECRET_KEYS}`],
      [
        'It was encoded twice',
        "kubectl get secret SECRET -n NAMESPACE -o jsonpath='{.data.api-key}' | base64 -d | wc -l",
      ],
    ],
  },
  SecretNotAllowed: {
    example: 'Secret team/key is the API key of a MarketplaceAccount, which no machine may get.',
    causes: [["spec.env names the account's own Secret", `${INSTANCE} -o jsonpath='{.spec.env}'`]],
  },
  InputsTooLarge: {
    example: 'The environment and the start script have 81234 bytes, more than 65536.',
    causes: [['A file was put into env or onStart', `${INSTANCE} -o json | wc -c`]],
  },
  OnStartTooLong: {
    example: 'The start script has 5321 characters when packed; the marketplace takes 4048.',
    causes: [
      [
        'The script is long, or holds data that does not compress',
        `${INSTANCE} -o jsonpath='{.spec.onStart}' | gzip | base64 | wc -c`,
      ],
    ],
    fix: ' spec:\n   onStart: |\n+    curl -fsSL https://example.com/start.sh | bash',
  },
  KeyRejected: {
    example: 'The marketplace does not accept the key. Put a valid key into the Secret.',
    causes: [
      ['The key was revoked or replaced at the marketplace', 'gpu-rent show user'],
      ['The Secret holds another value than you think', SECRET_KEYS],
      ['The key belongs to another marketplace than spec.url', `${ACCOUNT} -o jsonpath='{.spec.url}'`],
    ],
  },
  KeyTooNarrow: {
    example:
      'The key may not destroy machines, so none is rented with it. Use a key with the categories user_read, instance_read, instance_write and misc.',
    causes: [['The key was created with fewer categories', 'gpu-rent list api-keys']],
  },
  LoginChanged: {
    example:
      'The key proves user 7, the account is pinned to user 9; nothing is changed or destroyed with it.',
    causes: [['A key of another user was put into the Secret', 'gpu-rent show user']],
  },
  UsingKeptKey: {
    example:
      'Secret team/key does not exist. The kept key is used to list and destroy only; restore the Secret.',
    causes: [
      ['The Secret was deleted, perhaps with a GitOps commit', 'kubectl get secret -n NAMESPACE'],
      ['The new key may not destroy', 'gpu-rent list api-keys'],
    ],
  },
  TwoFactorRequired: {
    example:
      'The marketplace wants a two-factor login for this key. Use an API key instead of a session key.',
    causes: [['The Secret holds the key of a session', 'gpu-rent tfa status']],
  },
  URLNotAllowed: {
    example: "spec.url https://x.example is not in the operator's list (https://market.example).",
    causes: [
      [
        'The operator has no flag --marketplace-url for it',
        "kubectl get deployment gpu-rental-operator -n gpu-rental-system -o jsonpath='{..args}'",
      ],
    ],
    fix: ' # values.yaml of the chart\n marketplace:\n   urls:\n     - https://console.vast.ai\n+    - https://x.example',
  },
  Unreachable: {
    example: 'The marketplace does not answer: connect ETIMEDOUT.',
    causes: [
      ['A NetworkPolicy or firewall blocks the operator', OPERATOR_LOG],
      [
        'The cluster needs a proxy: HTTPS_PROXY',
        "kubectl get deployment gpu-rental-operator -n gpu-rental-system -o jsonpath='{..env}'",
      ],
      ['The marketplace is down', DOCTOR],
    ],
  },
  CertificateInvalid: {
    example: "The marketplace's certificate cannot be trusted: unable to get local issuer certificate.",
    causes: [
      ['A proxy that opens TLS has an authority of its own', 'openssl s_client -connect HOST:443 -showcerts'],
      ["The node's clock is wrong", 'date -u'],
    ],
  },
  AddressRefused: {
    example: 'The URL leads to 10.0.0.8, an address that the operator may not call.',
    causes: [
      [
        'DNS of the cluster gives a private address',
        'kubectl run -it --rm dns --image=busybox --restart=Never -- nslookup HOST',
      ],
    ],
  },
  Throttled: {
    example: 'Rate-limited: no request slot within 2m, so nothing was sent. Retrying automatically.',
    causes: [
      ['Another program uses the same login', 'gpu-rent list api-keys'],
      [
        'Many accounts of one login poll often',
        'kubectl get gpuacct -A -o jsonpath=\'{range .items[*]}{.spec.pollInterval}{"\\n"}{end}\'',
      ],
    ],
    fix: ' kind: MarketplaceAccount\n spec:\n-  pollInterval: 5s\n+  pollInterval: 20s',
  },
  MalformedReply: {
    example: 'The marketplace answers something that cannot be read: the list has no field instances.',
    causes: [
      ['spec.url leads to something else', 'curl -sI URL'],
      ['A proxy answers with a page of its own', OPERATOR_LOG],
    ],
  },
  LowCredit: {
    example: 'The credit $4.20 is not above limits.minCredit $20.00. Add credit at the marketplace.',
    causes: [['The credit is used up', 'gpu-rent show user']],
    fix: ' kind: MarketplaceAccount\n spec:\n   limits:\n-    minCredit: "20"\n+    minCredit: "2"',
  },
  SpendLimitReached: {
    example: 'limits.maxSpendPerMonth of $5.00 is reached.',
    causes: [
      ['Machines cost what they should', 'gpu-rent cost -A'],
      ['Deleted objects spent it', `${ACCOUNT} -o jsonpath='{.status.deletedObjects}'`],
    ],
    fix: ' kind: MarketplaceAccount\n spec:\n   limits:\n-    maxSpendPerMonth: "5"\n+    maxSpendPerMonth: "20"',
  },
  CreditUnknown: {
    example: 'The key may not read the credit of the login.',
    causes: [['The key lacks the category user_read', 'gpu-rent show user']],
  },
  MachinesRemain: {
    example:
      'GpuInstances still have machines of this account: team/a, team/b. Delete them, and the account goes too.',
    causes: [
      ['Objects use the account', 'kubectl get gpui -A'],
      ['Orphaned machines are destroyed first', 'gpu-rent orphans'],
    ],
  },
  OrphanFound: {
    example: 'Machine 20000009 bills $0.30/h, and no GpuInstance claims it.',
    causes: [
      ['Its object was deleted without its finalizer', 'gpu-rent orphans'],
      ['A rental was carried out late', 'kubectl get events -A --field-selector reason=LateRental'],
    ],
  },
  BreakerOpened: {
    example:
      '6 of 8 machines are unhealthy, more than spec.maxUnhealthy (40%) allows: replacing and sweeping stopped.',
    causes: [
      ['An outage of the marketplace', `${ACCOUNT} -o yaml`],
      ['A new image that fails on every machine', 'kubectl get gpui -A -o wide'],
    ],
  },
  BreakerReleased: {
    example:
      '6 machines stayed unhealthy for spec.maxUnhealthyHold (30m), so they are replaced one at a time.',
    causes: [['The outage lasts longer than spec.maxUnhealthyHold', 'kubectl get gpui -A -o wide']],
  },
  PickersSilent: {
    example: 'No picker of the gateway has reported for 15 s.',
    causes: [
      ['The picker does not run', 'kubectl get pods -A -l app.kubernetes.io/component=gateway'],
      ['Its reports are refused', 'kubectl logs -n GATEWAY_NAMESPACE deployment/GATEWAY -c picker'],
    ],
  },
  EndpointsLeftOut: {
    example: 'ConfigMap llm-endpoints leaves 2 of 5 workers out: their addresses are IPv6.',
    causes: [['Workers with IPv6 addresses, or many labels', WORKERS]],
  },
  AtMaxWorkers: {
    example: 'The load needs 11 workers, maxWorkers is 2.',
    causes: [['The load is more than the limit serves', EXPLAIN_GROUP]],
    fix: ' kind: EndpointGroup\n spec:\n-  maxWorkers: 2\n+  maxWorkers: 12',
  },
  AtSpendCeiling: {
    example: '1 more worker would be rented; the present ones cost $0.40/h of maxSpendPerHour $1.20.',
    causes: [['The next worker would pass the limit', 'gpu-rent cost -n NAMESPACE']],
    fix: ' kind: EndpointGroup\n spec:\n-  maxSpendPerHour: "1.20"\n+  maxSpendPerHour: "2.50"',
  },
  Saturated: {
    example: '1 worker is ready, none of them with room for more work.',
    causes: [
      ['More workers start', GROUP],
      ['A limit keeps the group small', EXPLAIN_GROUP],
    ],
  },
  TargetQueueTimeTooShort: {
    example:
      'Work in the workers has looked like a queue above targetQueueTime 1s for five minutes although the capacity suffices.',
    causes: [['One request takes longer than spec.targetQueueTime', EXPLAIN_GROUP]],
    fix: ' kind: EndpointGroup\n spec:\n-  targetQueueTime: 1s\n+  targetQueueTime: 10s',
  },
  MetricsMissing: {
    example:
      'No load figures arrive: no hot worker serves, so none reports. The number of workers is not lowered.',
    causes: [
      ['No worker is ready yet', WORKERS],
      ['Port or path of spec.load is wrong', EXPLAIN_GROUP],
      ['Pushed reports do not arrive', OPERATOR_LOG],
    ],
  },
  MetricsInvalid: {
    example: 'Load figures cannot be true: worker a: load is negative. No worker is removed by them.',
    causes: [
      ['The preset does not fit what the workers serve', `${GROUP} -o jsonpath='{.spec.load}'`],
      ['The worker has a fault', WORKERS],
    ],
  },
  LoadSourceUnreachable: {
    example: 'No load figures arrive: worker a: connection refused. The number of workers is not lowered.',
    causes: [
      ['Workers do not serve figures on that port', `${GROUP} -o jsonpath='{.spec.load}'`],
      [
        'Prometheus is not set: --prometheus-url',
        "kubectl get deployment gpu-rental-operator -n gpu-rental-system -o jsonpath='{..args}'",
      ],
    ],
  },
  PerfUnknown: {
    example:
      'No worker tells what it can do, and spec.expectedPerf is not set: one worker is hot, whatever the load.',
    causes: [['The load source has no figure of capacity', `${GROUP} -o jsonpath='{.spec.load.type}'`]],
    fix: ' kind: EndpointGroup\n spec:\n+  expectedPerf: "10"   # load units that one worker serves',
  },
  WakeTimedOut: {
    example: 'Worker a did not wake within spec.wakeTimeout (60s), so it is replaced.',
    causes: [
      ["Another customer has the machine's GPUs", WORKERS],
      ['The model loads longer than that', `${GROUP} -o jsonpath='{.spec.wakeTimeout}'`],
    ],
    fix: ' kind: EndpointGroup\n spec:\n-  wakeTimeout: 60s\n+  wakeTimeout: 5m',
  },
  AddressNotPublishable: {
    example: 'Worker a has the address 10.0.0.8, which is a private or cluster address; it is not used.',
    causes: [['The host is behind NAT or in a private network', WORKERS]],
  },
  ServicePortsDiffer: {
    example: 'Groups llm-a and llm-b share Service llm and declare different ports.',
    causes: [
      [
        'One template has another port or name',
        'kubectl get epg -n NAMESPACE -o jsonpath=\'{range .items[*]}{.metadata.name} {.spec.template.spec.ports}{"\\n"}{end}\'',
      ],
    ],
  },
  WriteRefused: {
    example: 'Creating a worker is refused: exceeded quota.',
    causes: [
      ['A ResourceQuota', 'kubectl describe quota -n NAMESPACE'],
      ['An admission policy', 'kubectl get validatingadmissionpolicybinding'],
      ['A missing right', DOCTOR],
    ],
  },
  WorkersFailing: {
    example: 'No worker can go on; look at the conditions of the workers.',
    causes: [
      ['No offers, credit or limit: the reason of a worker', WORKERS],
      ['The image fails', 'gpu-rent logs gpui/WORKER -n NAMESPACE'],
    ],
  },
};
