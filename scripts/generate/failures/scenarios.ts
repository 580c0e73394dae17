/** A failure scenario, and its required result. */
export interface Scenario {
  readonly number: number;
  readonly happens: string;
  readonly must: string;
  /** Reason for the absence of a test. */
  readonly notShown?: string;
}

const rows: readonly (readonly [happens: string, must: string, notShown?: string])[] = [
  [
    'The operator dies after a rental was answered and before the result is saved',
    'After the restart the machine is found by its label and claimed; nothing else is rented',
  ],
  [
    'It dies after the intent was written and before the rental is sent',
    'It waits until lists prove that nothing came of it, then rents under the next attempt',
  ],
  ['The rental times out, but the contract was made', 'As 1'],
  [
    'The rental times out and is carried out minutes later',
    'Within the settle time it is adopted; later it is an orphan, destroyed or reported',
  ],
  ['The rental request is lost', 'As 2'],
  [
    'The rental answers an error although the contract was made',
    'Every failure but a certain refusal counts as unknown; an id in the reply is recorded',
  ],
  [
    'The offer is taken by another customer',
    'The next offer at once, without waiting; this one is avoided for a while',
  ],
  ['200 with `success: false`', 'Unknown outcome: the list decides'],
  [
    'The rented machine is made stopped and does not boot',
    'The rental asks to be cancelled instead; else it is seen as never ready, destroyed and rented again',
  ],
  ['Two objects choose the same offer', 'Offers are reserved in memory; the second takes another'],
  ['No offer matches', 'A condition says what each requirement costs; nothing is written per try'],
  [
    'Search answers with unknown fields, nulls, floats or megabytes',
    'Parsed with tolerance, capped; one bad offer does not spoil the page',
  ],
  [
    'The price of an offer is above the limit, or missing',
    'Refused by the price in the reply that is used, at most a minute old; where the object allows an unknown price and the account does not forbid it, every limit counts the highest allowed one',
  ],
  ['The object is deleted before the rental is sent', 'Nothing is rented, the finalizer goes'],
  [
    'The object is deleted while the rental is in flight',
    'The outcome is settled first, then destroyed, confirmed gone, let go',
  ],
  ['The destroy times out or its answer is lost', 'It is repeated; only lists and a read prove absence'],
  [
    'The destroy is answered and the machine is still listed',
    'The finalizer stays; it is repeated with backoff and shown in $/h',
  ],
  ['The destroy answers 404', 'Believed only when the list agrees'],
  ['404 because the key is bad', 'Never "gone" from one 404'],
  ['The list is wrongly empty', 'Nothing is replaced or destroyed; the breaker opens'],
  ['The list is cut, contradicts its count, or its pages loop', 'The whole list is refused'],
  ['The list lags behind', 'The intent stays pending for longer than the lag'],
  ['The list shows what was destroyed', 'It is ignored while the destroy is young, then destroyed again'],
  ['A person destroys the machine in the console', 'Lost after two lists and a read; then by `onVanish`'],
  [
    'The machine is exited, unknown or offline',
    'After its tolerance it is destroyed, confirmed gone, and another is rented',
  ],
  ['The state flaps at every poll', 'Hysteresis: at most one status write per real change, no replacement'],
  ['An unknown status word', 'Shown, never judged'],
  ['The machine stays in loading', 'A deadline, then as 25'],
  [
    'Many machines turn bad at once',
    'The breaker opens, also if they turn bad one after the other, and stays open while as many are bad or many still come back: nothing is replaced, tolerance stands still, no host is blamed; after `maxUnhealthyHold` or a person’s word one machine at a time',
  ],
  ['The image crashes at every start', 'The spend limits: rentals per hour of the object and of the account'],
  ['The key is revoked', 'No writes with it, objects stay, `Authenticated=False`; recovers alone'],
  [
    'The key is changed for one of another user',
    '`LoginChanged` after two replies that agree: nothing is changed, nothing destroyed, nothing counts as gone',
  ],
  ['The key may not list or destroy', 'Seen at the start; what cannot be destroyed is not rented'],
  [
    'The key Secret is missing, empty, has a newline or another key name',
    'A condition that names it; no crash; recovers when it is repaired',
  ],
  ['Credit runs out', 'A condition and an event; no storm of rentals'],
  ['429 as plain text without Retry-After', 'The class is slowed; destroys go first'],
  ['503 for an hour', 'One condition, growing pauses, no storm afterwards'],
  [
    'A body of one byte a second, a gzip bomb, 100 MB, bad UTF-8',
    'A deadline and a byte limit for every call',
  ],
  ['A redirect to a metadata address, or a name that resolves to one', 'Refused'],
  ['The certificate is bad', 'Refused, with a condition'],
  ['A watch dies silently', 'Given up after 90 s without a word, and watched again'],
  ['410 at the start of a watch or in the middle', 'Listed again; deletions come from the difference'],
  ['410 within a paged list while an object is deleted', 'The list starts again; the deletion is noticed'],
  ['An error event that is no 410', 'Backoff, watch again, no hot loop'],
  ['Events are lost, doubled, late or out of order', 'The same end state'],
  [
    'An object is deleted and recreated under its name in a gap',
    "The old one's machine goes, the new one gets its own",
  ],
  ['A list from an older API server', 'Refused: the cache never goes back'],
  ['409 at the write of the intent', 'Nothing was spent; looked at again'],
  [
    '409, 500 or a time-out at the write of the result',
    'Repeated until it is saved; meanwhile the id is remembered',
  ],
  ['A write timed out and was applied', 'Read again before deciding'],
  [
    'The API server is away for ten minutes',
    'Nothing is destroyed without a fresh read; polls go on; no crash loop',
  ],
  ['429 of the API server', 'Its Retry-After is kept'],
  ["The service account's token changes", 'Read again, tried once more'],
  ['Permission to write the status is removed', 'Nothing is rented whose result could not be saved'],
  [
    'Two leaders, one frozen between intent and rental',
    'The late machine is surplus and goes; never two for long',
  ],
  ['The lease is lost in the middle of a pass', 'No new acts; what was begun ends'],
  ['The lease is deleted or edited by hand', 'Elected again'],
  [
    'The clock jumps, or stands still while the machine sleeps',
    'Graces take the slower clock, deadlines the faster',
  ],
  ['SIGTERM in the middle of a rental', 'Finished and saved, then the lease is released'],
  ['Out of memory while a list is parsed', 'Lists are parsed piece by piece; a restart converges'],
  ['A crash every 20 s for an hour', 'Ages come from the marketplace, so sweeps still happen'],
  ['The namespace is deleted', 'Every machine goes first; the finalizer holds the namespace'],
  ['A finalizer is removed by hand', 'The machine is an orphan: destroyed or reported by policy'],
  [
    'The CRDs or the operator are removed while objects live',
    'The chart keeps the CRDs; admission denies the rest while machines are rented',
  ],
  [
    'etcd is restored from a backup',
    '`OrphansHeld`: nothing unclaimed is destroyed before a person confirms',
  ],
  ['A second cluster with the same login', 'Its machines are counted as foreign and never touched'],
  ['A cluster is cloned with its Secret', 'The uid of kube-system differs: no sweeps'],
  ['A person copies or edits our label', 'The code or the time does not fit: reported, never destroyed'],
  [
    'Labels are cut, changed or dropped by the service',
    'Rentals go one at a time and hold where they cannot be told apart',
  ],
  [
    'The spec is edited while renting',
    'The intent has the generation; it is finished first, then by the update strategy',
  ],
  ['The status is edited by hand', 'An id without a valid claim is not believed'],
  ["Another writer's apply conflicts with the operator's", 'Separate field managers; no force on a spec'],
  [
    'A group goes from 0 to 20 and back within a second',
    'Level-triggered: never more than its maximum lives',
  ],
  ['Ten thousand objects at once, one of three keys dead', 'The others wait for none of its calls'],
  ['An onStart at its limit, with multi-byte text', 'Packed, or refused with its byte count'],
  ['Up- and downgrade with old intents', 'Intents have a version; an unknown one is left alone'],
  [
    'A reply has a wrong `Date`: a failure, a search, a cache, or one good list',
    'Only good replies that show machines tell the time; two must agree with a step, and two lists before a limit destroys',
  ],
  [
    'Twenty objects at once, at the documented rate limit of the marketplace',
    'Each has its turn: no rental slot stays free while one can use it, namespaces in turn',
  ],
  [
    'Hundreds of objects search for GPUs that no host offers',
    'They share searches, empty ones also across disk sizes, and back off; an object that matches an offer rents within 15 s',
  ],
  [
    "Another account of the login has a stronger key, or a tenant registers another tenant's key",
    'Writes leave with the key of the account in whose name they are made, or not at all; adoption needs the consent of all accounts of the login',
  ],
  [
    'An account cannot be listed, or another cluster uses the login, before the first start',
    'The identity is created at once; what this cluster has on record alone speaks against it',
  ],
  [
    'An object has timeouts of a second, or a broken image',
    'It blames machines for itself alone; for all only after the default time, or if two namespaces agree',
  ],
  [
    'A namespace loses the permission to use an account',
    'It rents nothing and starts no stopped machine; its machines can still be destroyed',
  ],
  [
    'An object names an account that does not allow its namespace, or that does not exist',
    'One fixed sentence for both: it learns nothing of the account',
  ],
  [
    'Finalizers are stripped and many objects removed at once',
    '`OrphansHeld`: no orphaned machine is destroyed before a person confirms, then slowly',
  ],
  [
    'An outage ends while destroys wait in the queue',
    'Each is decided again on the newest list when it is sent, and taken back',
  ],
  [
    'A rental is carried out minutes after the settle time',
    'It blocks the next purchase of its object; after an hour it is an orphan, by policy',
  ],
  [
    "A person copies a machine's label to another machine",
    'Seen beside the original it is a copy for good, and never touched',
  ],
  [
    'A readiness probe cannot be sent: a newline in a header, a path outside ASCII',
    'A failed probe of this object (`NotReachable`); the process goes on',
  ],
  [
    'A machine answers a probe with `101`, or half a reply, and nothing more',
    'The probe fails after its timeout and is sent again',
  ],
  [
    'Nothing in the operator catches an error',
    'Logged once with its object, counted, alert; a rejection is survived, an exception ends the process in order',
  ],
  [
    'One object names a large key of a Secret many times, or many objects carry long values',
    '`InputMissing` before anything is decoded; caches keep only what decisions read',
  ],
  [
    'The template of a group leaves the price to the account',
    "New workers count with the lower of the account's limit and the remaining room, so `maxSpendPerHour` holds",
  ],
  [
    "An author names an account's API key or another guarded Secret in `env`, `onStartFrom` or `imagePullSecretRef`",
    '`InputMissing`; nothing is rented, and no machine gets it',
  ],
  [
    'An author of a group queries series of other namespaces',
    "No query is sent unless an administrator set `--prometheus-tenancy`, and then only for the group's namespace",
  ],
  [
    'The token of the operator is stolen',
    "Admission lets it write only the operator's own Secrets, Services and EndpointSlices",
  ],
  [
    'A worker leaves while it reports requests in flight',
    'It finishes them, up to `drainTimeout`; the worker with the fewest requests leaves first',
  ],
  [
    'Thousands of objects wait for an adoption that is refused, by their account or since the machine has an owner',
    'None of them is reconciled after every list, or costs a comparison with the others',
  ],
  [
    'Slow connections fill the server for worker reports',
    'One address has at most 64; the oldest makes room for a new one',
  ],
  [
    'An object waits in the queue after the cause in its status has ended',
    '`Queued` with position and time replaces the older reason',
  ],
  [
    'A spec is edited so that the running machine still satisfies it',
    'The machine is kept; only a different request or an unsatisfied requirement replaces it',
  ],
  [
    '`kubectl delete --cascade=orphan` removes the owner references before the finalizer runs',
    'The EndpointSlices are removed by the uid in their label, before the machine is destroyed; Secret and Service when it has ended',
  ],
  [
    'A worker of a group runs and never becomes ready',
    'Named in the condition, and replaced after `notReadyTimeout` on another host, one at a time',
  ],
  [
    'A worker of a group reports an error, and then nothing more, while the operator restarts',
    'It leaves the Service at once and stays out; the condition quotes it; it is replaced after 60 s of the recorded time',
  ],
  [
    'The image of a group is broken on every machine',
    'Each replacement in a row waits twice as long as the one before, up to an hour; the condition says when the next is due',
  ],
  [
    'A person sets `requested-at` while an object waits in a backoff',
    'The backoff ends, and a new search is made for it',
  ],
  [
    'An offer has fewer direct ports than `ports` and `ssh` need',
    'It is not rented; the search asks for as many',
  ],
  [
    'A machine runs and does not map every declared port',
    '`NotReachable` with the missing ports; it is not Ready, and no Service leads to it',
  ],
  [
    'An edit moves the alternatives of `offers`, with `onPriceAbove: Replace`',
    'The price of the machine is compared with the highest maximum of all alternatives it satisfies; their order destroys nothing',
  ],
  [
    'An edit sets every `maxPricePerHour` below the price of the running machine',
    'The policy `price-floor` refuses the edit with `onPriceAbove: Replace`; with `Report` it lets the edit through, and the machine is kept',
  ],
  [
    '`deletionPolicy: Retain` or `hold` is set while a destroy is on its way, and the watch lags',
    'The object is read from the API server right before each destroy, which is taken back; while that read fails or takes longer than a second, nothing is destroyed',
  ],
  [
    "`kubectl delete --cascade=orphan`, and a person takes the object's finalizers away before the operator is done",
    'Within ten minutes, and at its next start, the operator removes the slices, the Service and the connection Secret by the uid in their labels, unless an account keeps the machine; what a person made, and what is of an object that exists, stays',
  ],
  [
    'A foreign Secret, Service or EndpointSlice has the name of a child, a quota or a policy refuses it, or a right is missing',
    'The object says `NameTaken` or `NotPermitted` with the words of the API server before anything is rented; a group rents and wakes no worker',
  ],
  [
    'Kubernetes does not answer the checks before a rental',
    '`ReconcileError`: the rental waits and the checks are repeated every 10 s',
  ],
  [
    'The image loads on no machine, the program exits at once on each, or the probe never succeeds',
    'From the second machine on the next rental waits 1 minute, then twice as long each time, up to an hour, also over a restart; `RepeatedFailure` names image, pull Secret, last status text and cost, and no machine is avoided for it',
  ],
  [
    'One list shows a wrong price, start, state or label of every machine',
    'The record counts; nothing ends, stops or is charged for good before two lists a poll apart and a read agree',
  ],
  [
    'Many machines would end at once by limit, price or spec',
    'The breaker opens before the first of them ends',
  ],
  [
    'The reply to a rental names the machine of another object or of a person',
    'The outcome is unknown, or the record is provisional; lists settle it by label',
  ],
  ['One offer is sold twice', 'The later machine, never reachable, is replaced and avoided'],
  [
    'The marketplace fails, or refuses the key, while objects wait for it',
    'One event and one log line with cause, code and duration at the start, and one at the end, on the account and on each object that waits; `status.outage` keeps the beginning over a restart',
  ],
  [
    'The marketplace stops a machine by itself',
    'One event that names the end of the contract, used up credit or a bid as the cause, if it is known; the account reads its credit again at once',
  ],
  [
    'An account is suspended (`spec.suspend`) while rentals and starts wait, are recorded or are queued',
    'None is sent any more; running machines stay, a lost one is kept, and destroys go on',
  ],
  [
    '`gpu-rent stop --all` stops many objects, and some refuse',
    'Groups are paused before their workers; each refusal is printed with its reason, the others are stopped, and what still bills is listed',
  ],
  [
    'The operator is away while a gateway serves',
    'The gateway serves on, logs cause and duration once at the start and once at the end, and shows the seconds in a metric',
  ],
];

/** All scenarios, numbered as tests name them. */
export const SCENARIOS: readonly Scenario[] = rows.map(([happens, must, notShown], index) => ({
  number: index + 1,
  happens,
  must,
  ...(notShown === undefined ? {} : { notShown }),
}));
