import type { Reason, reasons } from '../../src/api/v1alpha1/reasons.ts';

type KindOf<R extends Reason> = (typeof reasons)[R]['kind'];
/** The reasons that ask something of a person, or wait for something outside the operator. */
export type ProblemReason = {
  [R in Reason]: KindOf<R> extends 'retryable' | 'terminal' ? R : never;
}[Reason];

/** A usual cause of a reason, and the command that confirms it. */
export type Cause = readonly [cause: string, command: string];

export interface ReasonHelp {
  /** A message as the operator writes it, if no golden of its decisions has one. */
  readonly example?: string;
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

/** Help by reason: an example, its causes, the fix. Every reason that is `retryable` or `terminal` has an entry. */
export const reasonHelp: Readonly<Record<ProblemReason, ReasonHelp>> = {
  NotReachable: {
    example: 'Port 8080 of spec.ports has no public port on machine 20000006.',
    causes: [
      ['The program still starts, or failed to', LOG],
      ['It listens on 127.0.0.1 instead of 0.0.0.0', 'gpu-rent ssh gpui/NAME -n NAMESPACE -- ss -ltn'],
      [
        'The probe names another port or path than the program',
        `${INSTANCE} -o jsonpath='{.spec.readinessProbe}'`,
      ],
      ['The host has fewer direct ports than the object needs', 'gpu-rent show instance ID'],
      ['The image does not listen, so the host maps nothing', LOG],
      ['A header or path that HTTP does not allow', `${INSTANCE} -o jsonpath='{.spec.readinessProbe}'`],
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
      ['An admission webhook does not answer', 'kubectl get validatingwebhookconfigurations'],
      ['The API server is overloaded or restarts', 'kubectl get --raw /readyz?verbose'],
    ],
  },
  Exited: {
    causes: [
      ['The program in spec.onStart or the image ended, with success or an error', LOG],
      ['Out of memory: the log ends without an error', 'gpu-rent show instance ID'],
      ['Every machine ends the same way, so the image is at fault', HISTORY],
    ],
    fix: ' spec:\n   onStart: |\n-    ./train.sh\n+    ./train.sh; sleep infinity   # keep the container after the work',
  },
  HostOffline: {
    causes: [
      ['One host failed', `${HISTORY}`],
      ['Many hosts at once: an outage of the marketplace', 'kubectl get gpui -A | grep HostOffline'],
    ],
  },
  EndedItself: {
    example:
      'Machine 20000002 ended itself at about 2026-11-29T12:00:00Z: its lease was last renewed at 2026-11-29T10:00:00Z.',
    causes: [
      [
        'The operator was down for longer than the lease, or after maxLifetime',
        'kubectl get pods -n gpu-rental-system',
      ],
      ['The program of the machine did not renew its lease (by: Program)', HISTORY],
      ['The operator cannot connect to the SSH port of machines', DOCTOR],
    ],
    fix: ' spec:\n   lease:\n-    duration: 30m\n+    duration: 2h   # longer than the operator may be away',
  },
  Vanished: {
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
  ProvisioningTimedOut: {
    causes: [
      ['One slow host', HISTORY],
      ['Every host: spec.timeouts.provisioning is too short', `${INSTANCE} -o jsonpath='{.spec.timeouts}'`],
    ],
    fix: ' spec:\n   timeouts:\n-    provisioning: 5m\n+    provisioning: 10m',
  },
  LoadingTimedOut: {
    causes: [
      ['The image does not exist or is private', 'docker manifest inspect IMAGE'],
      [
        'The image is large for the download rate of the hosts',
        "gpu-rent search offers 'inet_down>=500' --limit 5",
      ],
    ],
    fix: ' spec:\n   timeouts:\n-    loading: 20m\n+    loading: 45m\n   offers:\n     - gpuNames: [RTX 4090]\n+      filters: [{field: inet_down, operator: Gt, value: "500"}]',
  },
  SoldToOther: {
    example: 'Machine 20000007 is gone (SoldToOther); it cost $0.02.',
    causes: [
      ['Your bid is below what others pay for this machine now', 'gpu-rent show instance ID'],
      ['Two rentals of one offer were both accepted', 'gpu-rent get instances'],
    ],
    fix: ' spec:\n   offers:\n     - gpuNames: [RTX 4090]\n-      pricing: Interruptible\n+      pricing: OnDemand',
  },
  CannotStart: {
    example: 'Worker a did not wake within spec.wakeTimeout (60s), so it is replaced.',
    causes: [
      ["Another customer has the machine's GPUs", 'gpu-rent show instance ID'],
      ['The host is slow to start', `${INSTANCE} -o jsonpath='{.spec.timeouts.start}'`],
      ["Another customer has the machine's GPUs", WORKERS],
      ['The model loads longer than that', `${GROUP} -o jsonpath='{.spec.wakeTimeout}'`],
    ],
    fix: ' kind: EndpointGroup\n spec:\n-  wakeTimeout: 60s\n+  wakeTimeout: 5m',
  },
  ReplacementOff: {
    causes: [
      ['The machine ended; the history says why', HISTORY],
      ["This marketplace's profile has no start", `${ACCOUNT} -o jsonpath='{.spec.url}'`],
    ],
    fix: ' spec:\n   replacement:\n-    policy: Never\n+    policy: Always',
  },
  VanishedHeld: {
    causes: [['As Vanished or EndedItself; spec.onVanish asks you before another is rented', HISTORY]],
    fix: ' spec:\n-  onVanish: Hold\n+  onVanish: Recreate',
  },
  PriceRaised: {
    causes: [
      [
        'The host raised its price between search and rental',
        'kubectl get events -n NAMESPACE --field-selector reason=PriceRaised',
      ],
      ['Storage or traffic is billed besides the GPU', 'gpu-rent show instance ID'],
    ],
    fix: ' spec:\n+  onPriceAbove: Replace   # replaces the machine; its disk is lost',
  },
  ReplacementBlocked: {
    causes: [
      ['The edit asks for something that no host offers', EXPLAIN],
      ['A limit or the credit of the account leaves no room, even without this machine', ACCOUNT],
      ['A Secret that the new spec names is missing', 'kubectl get secret -n NAMESPACE'],
    ],
    fix: ' spec:\n-  disk: 90T\n+  disk: 64G',
  },
  DiffersFromOffer: {
    example: 'The machine differs from what was rented: GPU RTX 3090 instead of RTX 4090.',
    causes: [
      ['The host offers another machine than it has', 'gpu-rent show instance ID'],
      ['The marketplace shows a wrong row', 'gpu-rent show instance ID'],
      ['One reply of the marketplace was wrong', 'gpu-rent show instance ID'],
      ['The host changed its price a moment ago', 'gpu-rent show instance ID'],
    ],
  },
  ContractEnd: {
    example:
      'The rental contract has ended, so the marketplace has stopped the machine. Copy what you need from the disk.',
    causes: [
      ['The host did not prolong the contract', `${INSTANCE} -o jsonpath='{.status.machine.contractEnd}'`],
      ['The host offered the machine until that time', 'gpu-rent show instance ID'],
    ],
    fix: ' spec:\n+  onContractEnd: Keep',
  },
  LifeFuseFixed: {
    example: 'Machine 20000002 ends itself at 2026-11-29T13:10:00Z, by the maxLifetime of its rental.',
    causes: [
      [
        'spec.maxLifetime was raised or removed after the rental',
        `${INSTANCE} -o jsonpath='{.spec.maxLifetime}'`,
      ],
      [
        'spec.deletionPolicy was changed, so that the operator would keep the machine',
        `${INSTANCE} -o jsonpath='{.spec.deletionPolicy}'`,
      ],
    ],
  },
  LeaseNotRenewed: {
    causes: [
      ['A network policy or firewall stops connections from the operator to the SSH port', DOCTOR],
      ['The SSH port of the machine moved or does not answer', 'gpu-rent ssh gpui/NAME -n NAMESPACE -- true'],
      [
        'The machine does not reach the report server, or does not trust its certificate (by: Report)',
        "curl --data '{}' https://ADDRESS/lease/",
      ],
      [
        'The program removed /var/tmp/.gpurental, so that no fuse runs',
        'gpu-rent ssh gpui/NAME -n NAMESPACE -- ls /var/tmp/.gpurental',
      ],
    ],
  },
  Idle: {
    example:
      'GPU utilization below 5 % since 2026-11-30T13:02:00Z. The machine is destroyed at 2026-11-30T13:32:00Z, unless it is used.',
    causes: [
      ['The work is done, or a program waits or hangs', 'gpu-rent logs gpui/NAME -n NAMESPACE'],
      ['The program uses the CPU only', 'gpu-rent ssh gpui/NAME -n NAMESPACE -- nvidia-smi'],
      ['The marketplace reports a wrong utilization', 'gpu-rent top -n NAMESPACE'],
    ],
    fix: ' metadata:\n   annotations:\n+    gpurental.dev/idle-extend-until: "2026-11-30T18:00:00Z"',
  },
  RunFailed: {
    example: 'The program ended with exit code 7 (attempt 1 of 4). The next machine is rented in 10s.',
    causes: [
      ['The program has a fault, or its input is missing', 'gpu-rent logs gpui/NAME -n NAMESPACE'],
      ['The machine has too little memory or disk', `${INSTANCE} -o jsonpath='{.status.run.message}'`],
    ],
  },
  ResultUnknown: {
    example: 'Machine 20000001 stopped by itself: reading the result of its program.',
    causes: [
      ['The host went offline when the program ended', EXPLAIN],
      ['The program removed /var/tmp/.gpurental, and its log is not available', EXPLAIN],
    ],
  },
  BackoffLimit: {
    example: 'The program ended with exit code 7 (attempt 4 of 4).',
    causes: [['The program fails on every machine', `${INSTANCE} -o jsonpath='{.status.run.message}'`]],
  },
  LostLimit: {
    example: '21 machines were lost; completion.lostLimit is 20.',
    causes: [
      ['Bids in spec.offers are low, so other customers take the machines', EXPLAIN],
      ['Machines fail on the way, or the image does not load', EXPLAIN],
    ],
  },
  DeadlineExceeded: {
    example: 'spec.maxLifetime of 24h is over.',
    causes: [
      ['The program takes longer than spec.maxLifetime, or hangs', 'gpu-rent logs gpui/NAME -n NAMESPACE'],
      ['Lost machines and failed attempts took the time', EXPLAIN],
    ],
  },
  Cancelled: {
    example: 'The run was cancelled at 2026-11-30T18:00:00Z.',
    causes: [
      [
        'A person, or the Job of the run, set the annotation',
        `${INSTANCE} -o jsonpath='{.metadata.annotations}'`,
      ],
    ],
  },
  DestroyFailing: {
    causes: [
      ['The key was revoked or lost a right', ACCOUNT],
      ['The marketplace does not answer', DOCTOR],
    ],
  },
  NameTaken: {
    example: 'Groups llm-a and llm-b share Service llm and declare different ports.',
    causes: [
      [
        'An object of yours has the name',
        'kubectl get service,secret,endpointslice,configmap NAME -n NAMESPACE',
      ],
      [
        'Another GpuInstance or EndpointGroup has it',
        "kubectl get service NAME -n NAMESPACE -o jsonpath='{.metadata.ownerReferences}'",
      ],
      [
        'One template has another port or name',
        'kubectl get epg -n NAMESPACE -o jsonpath=\'{range .items[*]}{.metadata.name} {.spec.template.spec.ports}{"\\n"}{end}\'',
      ],
    ],
  },
  AdoptionTargetInvalid: {
    causes: [
      [
        'Another object claims it',
        'kubectl get gpui -A -o jsonpath=\'{range .items[*]}{.metadata.name} {.status.machine.id}{"\\n"}{end}\'',
      ],
      ['Another cluster rents with the same login', MACHINES],
      ['The id is wrong, or the machine is gone', MACHINES],
      ['It belongs to another login', 'gpu-rent show user'],
    ],
  },
  RecordUnreadable: {
    example: 'status.record cannot be read. The operator searches the machine by its label.',
    causes: [
      ['A person or a tool edited the status', `${INSTANCE} -o jsonpath='{.status.record}'`],
      ['A person or a tool edited the annotation', `${INSTANCE} -o yaml --show-managed-fields`],
      ['The object was copied from another cluster', HISTORY],
      [
        'The operator was downgraded',
        "kubectl get deployment gpu-rental-operator -n gpu-rental-system -o jsonpath='{..image}'",
      ],
    ],
  },
  CopiedObject: {
    example:
      'The annotation gpurental.dev/rental-intent was copied from GpuInstance team/trainer, whose machine 20000006 runs.',
    causes: [
      ['A backup was restored while the original machine runs', MACHINES],
      [
        'The manifest came from kubectl get -o yaml, with all annotations',
        "kubectl get gpui NAME -o jsonpath='{.metadata.annotations}'",
      ],
    ],
  },
  IdentityInvalid: {
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
      [
        'The cluster was copied or restored from a backup',
        "kubectl get namespace kube-system -o jsonpath='{.metadata.uid}'",
      ],
    ],
  },
  OrphansHeld: {
    example: '7 of 8 machines lost their GpuInstances at once, more than maxUnhealthy allows.',
    causes: [
      ['Objects were deleted without their finalizers, or the CRDs were', 'kubectl get gpui -A'],
      ['You deleted them on purpose', 'gpu-rent orphans'],
      ['etcd was restored from a snapshot', MACHINES],
    ],
  },
  NoOffers: {
    example: '3 offers match, and none names its price.',
    causes: [
      ['The GPU name is not spelled as the marketplace spells it', 'gpu-rent list gpus'],
      ['One requirement excludes everything; the message counts each', 'gpu-rent plan -f FILE'],
      ['Hosts that match are avoided after failures', 'gpu-rent avoid list'],
      ['The limit of the object is below the market', 'gpu-rent plan -f FILE'],
      [
        'The limit of the account is lower than that of the object',
        `${ACCOUNT} -o jsonpath='{.spec.limits}'`,
      ],
      ['The marketplace leaves the price out', 'gpu-rent search offers -o json --limit 1'],
    ],
    fix: ' spec:\n   offers:\n-    - gpuNames: [rtx4090]\n+    - gpuNames: [RTX 4090, RTX 3090]',
  },
  RentalRefused: {
    example:
      'The marketplace refused the rental of offer 100: disk is larger than the host has. Another offer is tried.',
    causes: [
      ['The disk or a port is more than the host has', EXPLAIN],
      ['The image name is invalid for the marketplace', 'gpu-rent plan -f FILE'],
    ],
  },
  InvalidSpec: {
    example: 'The marketplace does not accept the request: env is too large. Nothing was rented.',
    causes: [
      ['A value that only the marketplace checks', 'gpu-rent plan -f FILE'],
      ['A misspelled field, or a value of the wrong type', 'gpu-rent plan -f FILE'],
      ['No limit is set in either place', `${ACCOUNT} -o jsonpath='{.spec.limits}'`],
      [
        'The script is long, or holds data that does not compress',
        `${INSTANCE} -o jsonpath='{.spec.onStart}' | gzip | base64 | wc -c`,
      ],
      ['The image is a server, and the manifest gives no args', `${INSTANCE} -o jsonpath='{.spec.image}'`],
      ['A file was put into env or onStart', `${INSTANCE} -o json | wc -c`],
    ],
  },
  RentalUncertain: {
    example:
      'The reply to purchase 2 named machine 20000007, which does not carry the label of that purchase. The operator leaves it untouched.',
    causes: [
      ['The reply was lost; this ends by itself within minutes', EXPLAIN],
      ['The marketplace cannot be listed', ACCOUNT],
      ['The marketplace or a proxy answered with the id of another machine', 'gpu-rent get instances'],
    ],
  },
  OldMachineNotGone: {
    causes: [
      ['The destroy is under way', EXPLAIN],
      ['The marketplace lists a machine that it cannot destroy', 'gpu-rent show instance ID'],
    ],
  },
  RepeatedFailure: {
    example:
      '3 machines in a row failed (LoadingTimedOut) with image ghcr.io/acme/server:1 and no pull Secret. Last status: "manifest unknown". They cost $0.21. Next rental: 2026-11-20T12:02:00Z.',
    causes: [
      ['The image does not exist, or is private', `${INSTANCE} -o jsonpath='{.spec.image}'`],
      ['The program ends or crashes at once', LOG],
      ['The image is too large for spec.timeouts.loading', HISTORY],
    ],
    fix: ' spec:\n-  image: ghcr.io/acme/server:1\n+  image: ghcr.io/acme/server:1.2\n+  imagePullSecretRef:\n+    name: registry',
  },
  BreakerOpen: {
    example:
      '6 of 8 machines of the account are unhealthy, more than spec.maxUnhealthy allows, so none is replaced.',
    causes: [
      ['An outage of the marketplace', `${ACCOUNT} -o yaml`],
      ['A new image that fails on every machine', 'kubectl get gpui -A -o wide'],
      ['An outage of the marketplace', `${ACCOUNT} -o yaml`],
      ['A new image that fails on every machine', 'kubectl get gpui -A -o wide'],
      ['The outage lasts longer than spec.maxUnhealthyHold', 'kubectl get gpui -A -o wide'],
    ],
    fix: ' kind: MarketplaceAccount\n metadata:\n   annotations:\n+    gpurental.dev/close-breaker: "2026-11-25T10:00:00Z"   # replaces one at a time',
  },
  AccountMissing: {
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
    causes: [
      ['The reason of the account says which', 'kubectl get gpuacct -A -o wide'],
      ["The node's clock is wrong", `${OPERATOR_LOG} | grep -i clock`],
      ['A proxy answers from a cache', DOCTOR],
    ],
  },
  NotAllowedByAccount: {
    causes: [
      [
        'The account is shared with other namespaces only',
        'kubectl get gpuacct -A -o jsonpath=\'{range .items[*]}{.metadata.name} {.spec.allowedNamespaces}{"\\n"}{end}\'',
      ],
      [
        'The namespace lacks the label that the account selects',
        'kubectl get namespace NAMESPACE --show-labels',
      ],
      ['spec.adoption of the account is None', `${ACCOUNT} -o jsonpath='{.spec.adoption}'`],
    ],
    fix: ' kind: MarketplaceAccount\n spec:\n   allowedNamespaces:\n     from: Selector\n     selector:\n       matchLabels:\n+        team: research',
  },
  NotPermitted: {
    causes: [
      ['The installation watches some namespaces only', DOCTOR],
      [
        'A Role was changed by hand',
        'kubectl auth can-i get secrets -n NAMESPACE --as system:serviceaccount:gpu-rental-system:gpu-rental-operator',
      ],
      ['A ResourceQuota of the namespace is used up', 'kubectl describe quota -n NAMESPACE'],
      ['An admission policy forbids the object', 'kubectl get validatingadmissionpolicies'],
      ['A ResourceQuota', 'kubectl describe quota -n NAMESPACE'],
      ['An admission policy', 'kubectl get validatingadmissionpolicybinding'],
      ['A missing right', DOCTOR],
    ],
  },
  LimitReached: {
    causes: [
      [
        'The object lived as long as it may',
        `${INSTANCE} -o jsonpath='{.spec.maxLifetime} {.metadata.creationTimestamp}'`,
      ],
      ['It cost as much as it may', 'gpu-rent cost gpui/NAME -n NAMESPACE'],
    ],
    fix: ' spec:\n-  maxLifetime: 1h\n+  maxLifetime: 8h',
  },
  Suspended: {
    causes: [
      ['A person suspended the account to stop spending', `${ACCOUNT} -o jsonpath='{.spec.suspend}'`],
      ['Git holds spec.suspend: true', `${ACCOUNT} -o yaml --show-managed-fields`],
    ],
    fix: ' kind: MarketplaceAccount\n spec:\n-  suspend: true\n+  suspend: false',
  },
  AtLimit: {
    example: 'limits.maxInstances of 3 leaves no room for another machine.',
    causes: [
      ['Other objects use the account', 'gpu-rent cost -A'],
      ['Retained or orphaned machines count too', 'gpu-rent orphans'],
      ['Machines cost what they should', 'gpu-rent cost -A'],
      ['Deleted objects spent it', `${ACCOUNT} -o jsonpath='{.status.deletedObjects}'`],
      ['The image ends on every machine', HISTORY],
      ['Hosts fail; their ids differ in the history', 'gpu-rent avoid list'],
      ['The load is more than the limit serves', EXPLAIN_GROUP],
      ['The next worker would pass the limit', 'gpu-rent cost -n NAMESPACE'],
    ],
    fix: ' kind: MarketplaceAccount\n spec:\n   limits:\n-    maxInstances: 3\n+    maxInstances: 5',
  },
  BudgetReached: {
    example: 'SpendBudget team: all machines of the namespace would cost $5.20/h; perHour is $5.00.',
    causes: [
      ['Other machines of the namespace use the budget', 'gpu-rent cost -n NAMESPACE'],
      ['The budget is below the price of one machine', 'kubectl get spendbudgets -n NAMESPACE'],
      ['The month is spent', 'kubectl get spendbudgets -n NAMESPACE -o wide'],
    ],
    fix: ' kind: SpendBudget\n spec:\n-  perHour: "5"\n+  perHour: "8"',
  },
  InsufficientCredit: {
    example: 'The marketplace refuses the rental: insufficient credit.',
    causes: [
      ['The credit is used up', 'gpu-rent show user'],
      ['The credit is used up', 'gpu-rent show user'],
    ],
    fix: ' kind: MarketplaceAccount\n spec:\n   limits:\n-    minCredit: "20"\n+    minCredit: "2"',
  },
  CreditLow: {
    example:
      'Credit is used up in about a day or less at the present hourly cost; without credit the marketplace stops or destroys machines. Add credit at the marketplace.',
    causes: [
      ['The credit was not topped up in time', `${ACCOUNT} -o jsonpath='{.status.credit} {.status.runway}'`],
      ['More or more expensive machines bill than planned', 'gpu-rent cost -A'],
      ['limits.minCredit is close to the credit', `${ACCOUNT} -o jsonpath='{.spec.limits.minCredit}'`],
    ],
  },
  InputMissing: {
    example: 'Secret team/key is the API key of a MarketplaceAccount, which no machine may get.',
    causes: [
      ['The Secret has keys in plain text, or in base64', SECRET_KEYS],
      ['It was not created in this namespace', 'kubectl get secret -n NAMESPACE'],
      ['External Secrets or Sealed Secrets has not created it yet', 'kubectl get events -n NAMESPACE'],
      ['The value is under another key', SECRET_KEYS],
      ['The file ended with more than one line', `${SECRET_KEYS}`],
      [
        'It was encoded twice',
        "kubectl get secret SECRET -n NAMESPACE -o jsonpath='{.data.api-key}' | base64 -d | wc -l",
      ],
      ['The login has no key', 'gpu-rent list ssh-keys'],
      ["spec.env names the account's own Secret", `${INSTANCE} -o jsonpath='{.spec.env}'`],
    ],
    fix: ' kind: MarketplaceAccount\n spec:\n   apiKeySecretRef:\n     name: key\n+    key: token',
  },
  KeyRejected: {
    causes: [
      ['The key was revoked or replaced at the marketplace', 'gpu-rent show user'],
      ['The Secret holds another value than you think', SECRET_KEYS],
      ['The key belongs to another marketplace than spec.url', `${ACCOUNT} -o jsonpath='{.spec.url}'`],
      ['The Secret holds the key of a session', 'gpu-rent tfa status'],
    ],
  },
  KeyTooNarrow: {
    causes: [
      ['The key was created with fewer categories', 'gpu-rent list api-keys'],
      ['The key lacks the category user_read', 'gpu-rent show user'],
    ],
  },
  LoginChanged: {
    causes: [['A key of another user was put into the Secret', 'gpu-rent show user']],
  },
  UsingKeptKey: {
    causes: [
      ['The Secret was deleted, perhaps with a GitOps commit', 'kubectl get secret -n NAMESPACE'],
      ['The new key may not destroy', 'gpu-rent list api-keys'],
    ],
  },
  AddressInvalid: {
    causes: [
      [
        'The operator has no flag --marketplace-url for it',
        "kubectl get deployment gpu-rental-operator -n gpu-rental-system -o jsonpath='{..args}'",
      ],
      ['A proxy that opens TLS has an authority of its own', 'openssl s_client -connect HOST:443 -showcerts'],
      ["The node's clock is wrong", 'date -u'],
      [
        'DNS of the cluster gives a private address',
        'kubectl run -it --rm dns --image=busybox --restart=Never -- nslookup HOST',
      ],
    ],
    fix: ' # values.yaml of the chart\n marketplace:\n   urls:\n     - https://console.vast.ai\n+    - https://x.example',
  },
  Unreachable: {
    causes: [
      ['A NetworkPolicy or firewall blocks the operator', OPERATOR_LOG],
      [
        'The cluster needs a proxy: HTTPS_PROXY',
        "kubectl get deployment gpu-rental-operator -n gpu-rental-system -o jsonpath='{..env}'",
      ],
      ['The marketplace is down', DOCTOR],
      ['spec.url leads to something else', 'curl -sI URL'],
      ['A proxy answers with a page of its own', OPERATOR_LOG],
    ],
  },
  Throttled: {
    causes: [
      ['Another program uses the same login', 'gpu-rent list api-keys'],
      [
        'Many accounts of one login poll often',
        'kubectl get gpuacct -A -o jsonpath=\'{range .items[*]}{.spec.pollInterval}{"\\n"}{end}\'',
      ],
    ],
    fix: ' kind: MarketplaceAccount\n spec:\n-  pollInterval: 5s\n+  pollInterval: 20s',
  },
  OrphanFound: {
    example: 'Machine 20000009 bills $0.30/h, and no GpuInstance claims it.',
    causes: [
      ['Its object was deleted without its finalizer', 'gpu-rent orphans'],
      ['A rental was carried out late', 'kubectl get events -A --field-selector reason=OrphanFound'],
      ['The marketplace answered a rental with an error and rented all the same', 'gpu-rent orphans'],
      ["A person copied the label in the marketplace's console", 'gpu-rent orphans'],
    ],
  },
  EndpointsLeftOut: {
    example: 'ConfigMap llm-endpoints omits ready workers: 2 without an IPv4 address or serving port.',
    causes: [
      ['Workers with IPv6 addresses, or many labels', WORKERS],
      ['The host is behind NAT or in a private network', WORKERS],
    ],
  },
  Saturated: {
    example: '1 of 1 ready worker is full.',
    causes: [
      ['More workers start', GROUP],
      ['A limit keeps the group small', EXPLAIN_GROUP],
      ['One request takes longer than spec.targetQueueTime', EXPLAIN_GROUP],
    ],
    fix: ' kind: EndpointGroup\n spec:\n-  targetQueueTime: 1s\n+  targetQueueTime: 10s',
  },
  LoadUnavailable: {
    example: 'No picker has reported for 15 s.',
    causes: [
      ['No worker is ready yet', WORKERS],
      ['Port or path of spec.load is wrong', EXPLAIN_GROUP],
      ['Pushed reports do not arrive', OPERATOR_LOG],
      ['The preset does not fit what the workers serve', `${GROUP} -o jsonpath='{.spec.load}'`],
      ['The worker has a fault', WORKERS],
      ['Workers do not serve figures on that port', `${GROUP} -o jsonpath='{.spec.load}'`],
      [
        'Prometheus is not set: --prometheus-url',
        "kubectl get deployment gpu-rental-operator -n gpu-rental-system -o jsonpath='{..args}'",
      ],
      ['The load source has no figure of capacity', `${GROUP} -o jsonpath='{.spec.load.type}'`],
      ['The picker does not run', 'kubectl get pods -A -l app.kubernetes.io/component=gateway'],
      ['Its reports are refused', 'kubectl logs -n GATEWAY_NAMESPACE deployment/GATEWAY -c picker'],
    ],
    fix: ' kind: EndpointGroup\n spec:\n+  expectedPerf: "10"   # load units that one worker serves',
  },
  WorkersFailing: {
    causes: [
      ['No offers, credit or limit: the reason of a worker', WORKERS],
      ['The image fails', 'gpu-rent logs gpui/WORKER -n NAMESPACE'],
    ],
  },
};
