/*
 * Catalogue of the faults that `/sim/faults` accepts, by name. `stage` names the code that carries a fault out:
 * `call` before or after the handler (call-faults.ts), `reply` on the finished reply (reply-faults.ts), `handler`
 * inside an endpoint, `world` immediately when it is set (world-faults.ts).
 */

/**
 * Ways in which a `wrong-field` changes a field: to `value`, times `value`, plus `value`, removed, another type, its
 * value when the fault was set, or that of another row of the same or of another login.
 */
export const CHANGES = [
  'set',
  'times',
  'plus',
  'remove',
  'retype',
  'stale',
  'other-row',
  'other-login',
] as const;
export type ChangeName = (typeof CHANGES)[number];

export interface FaultEntry {
  readonly stage: 'call' | 'reply' | 'handler' | 'world';
  /** Effect of the fault on the caller, and whether the call has its effect. */
  readonly what: string;
  /** Meaning of `seconds`; by default the duration of the fault. */
  readonly seconds?: string;
  /** True if it applies until it is deleted, false if it applies once unless a count is given. */
  readonly stays?: boolean;
}

const CALL = {
  refused: { stage: 'call', what: 'The connection is refused: no byte arrived, nothing happened.' },
  'reset-before': {
    stage: 'call',
    what: 'The connection breaks after the request was sent; nothing happened.',
  },
  'reset-after': { stage: 'call', what: 'The connection breaks; the effect happened, its reply is lost.' },
  delayed: {
    stage: 'call',
    what: 'The request is carried out late, even if its caller has timed out, and then answered.',
    seconds: 'Delay of the effect, in seconds of real time; 5 by default.',
  },
  'delayed-reply': {
    stage: 'call',
    what: 'The effect happens at once, the reply comes late.',
    seconds: 'Delay of the reply, in seconds of real time; 5 by default.',
  },
  duplicated: { stage: 'call', what: 'The request is carried out twice; the caller gets the first reply.' },
  '429-text': { stage: 'call', what: '429 with plain text, no Retry-After; nothing happened.' },
  '429-json': { stage: 'call', what: '429 with {"detail": …}, no Retry-After; nothing happened.' },
  '429-retry-after': {
    stage: 'call',
    what: '429 with JSON and a Retry-After header; nothing happened.',
    seconds: 'Value of Retry-After; 2 by default.',
  },
  '5xx': { stage: 'call', what: '503 with an HTML body, as a proxy answers; nothing happened.' },
  '5xx-with-effect': { stage: 'call', what: '500 with a JSON error; the effect happened.' },
  'error-with-effect': {
    stage: 'call',
    what: '400 whose body also contains the fields of the good reply, `new_contract` among them; the effect happened.',
  },
  'success-false': { stage: 'call', what: '200 with {"success": false, "msg": …}; nothing happened.' },
  'success-false-with-effect': {
    stage: 'call',
    what: '200 with {"success": false, "msg": …}; the effect happened.',
  },
  'auth-as-404': {
    stage: 'call',
    what: '404 `Invalid user key`, as offer search answers a bad key; nothing happened.',
  },
  'revoked-key': {
    stage: 'call',
    what: '401 `Invalid user key` although the key is good; nothing happened.',
  },
  forbidden: { stage: 'call', what: '403 without a reason; nothing happened.' },
  redirect: { stage: 'call', what: '302 to a link-local metadata address; nothing happened.' },
} as const satisfies Record<string, FaultEntry>;

const REPLY = {
  'rubbish-reply': { stage: 'reply', what: 'The effect happened; the body is not JSON and not UTF-8.' },
  'huge-reply': { stage: 'reply', what: 'The effect happened; the reply is 100 MB of JSON.' },
  'slow-loris': {
    stage: 'reply',
    what: 'The effect happened; the body comes byte by byte, one a second.',
    seconds: 'Duration of the body before the connection ends; default 600.',
  },
  'gzip-bomb': { stage: 'reply', what: 'The effect happened; 100 kB of gzip that unpack to 100 MB.' },
  'empty-list': { stage: 'reply', what: 'The list is empty, with counts of 0.' },
  'truncated-list': { stage: 'reply', what: 'Half of the list is missing; the counts are correct.' },
  'next-token-loop': { stage: 'reply', what: 'Every page of a paged list names the same next page.' },
  'odd-row': {
    stage: 'reply',
    what: 'The first row of a list is nonsense: no id, texts for numbers, numbers for texts, unknown fields.',
  },
  'wrong-field': {
    stage: 'reply',
    what: 'A field of the reply is wrong: `field`, changed as `change` says, in the rows of `instance` or `host`, or in all.',
  },
  'price-missing': { stage: 'reply', what: 'Rows of offers and instances carry no price.', stays: true },
} as const satisfies Record<string, FaultEntry>;

const HANDLER = {
  'offer-gone': {
    stage: 'handler',
    what: 'The rent is refused: another customer was faster (`no_such_ask`, 404 or 410).',
  },
  'sold-twice': {
    stage: 'handler',
    what: 'The rented offer is sold a second time: the later machine runs, but its ports do not answer.',
  },
  'create-stopped': {
    stage: 'handler',
    what: 'The rented machine is made stopped and never boots by itself.',
  },
  'label-dropped': { stage: 'handler', what: 'The label of a rental is lost.', stays: true },
  'label-cut': { stage: 'handler', what: 'Only 20 characters of the label are kept.', stays: true },
  'label-lower-cased': {
    stage: 'handler',
    what: 'Lists show the label of a rental in lower case, without colons.',
    stays: true,
  },
  'stuck-loading': { stage: 'handler', what: 'A machine rented now stays in `loading` for ever.' },
  'slow-pull': {
    stage: 'handler',
    what: 'A machine rented now pulls its image slowly.',
    seconds: 'Seconds added to the pull; 600 by default.',
  },
  'crash-image': {
    stage: 'handler',
    what: 'The container of a machine rented now exits as soon as it runs.',
    stays: true,
  },
  'stale-list': {
    stage: 'handler',
    what: 'Lists show the contracts as they were when the fault was set.',
    stays: true,
  },
  'lagging-list': {
    stage: 'handler',
    what: 'Lists do not show contracts younger than `seconds`; a single read shows them.',
    seconds: 'Lag in seconds; 30 by default.',
    stays: true,
  },
  'ghost-rows': {
    stage: 'handler',
    what: 'Lists go on showing destroyed contracts, as running.',
    stays: true,
  },
  'unknown-status': {
    stage: 'handler',
    what: 'Rows carry a status word that is in no specification.',
    stays: true,
  },
  flap: { stage: 'handler', what: 'Rows show `unknown` in every second list.', stays: true },
  'delete-ignored': { stage: 'handler', what: 'DELETE reports success and has no effect.' },
  'cannot-start': {
    stage: 'handler',
    what: 'A start answers success; the machine stays stopped.',
    stays: true,
  },
} as const satisfies Record<string, FaultEntry>;

const WORLD = {
  offline: {
    stage: 'world',
    what: 'The machine of one instance, or all of one host, reads `offline`.',
    seconds: 'Length of the outage; endless by default.',
  },
  unknown: {
    stage: 'world',
    what: 'The machine of one instance, or all of one host, reads `unknown`.',
    seconds: 'Length of the outage; endless by default.',
  },
  exited: {
    stage: 'world',
    what: 'The container of one instance, or all on one host, crashes: `exited`.',
    seconds: 'Seconds after which it runs again by itself; never by default.',
  },
  idle: {
    stage: 'world',
    what: 'The GPUs of one instance, or of all on one host, are not used: `gpu_util` is 0.',
    seconds: 'Seconds after which they are used again; never by default.',
  },
  'host-death': {
    stage: 'world',
    what: 'The host is gone for good: its machines read `offline` and cannot be rented.',
  },
  'mass-outage': {
    stage: 'world',
    what: 'All machines, or the share given as `probability`, read `offline` at once.',
    seconds: 'Length of the outage; 60 by default.',
  },
  outbid: {
    stage: 'world',
    what: 'Another customer bids more for the interruptible machine: it stops until the bid is raised.',
  },
  'destroyed-elsewhere': { stage: 'world', what: 'A person destroys the instance in the console.' },
  'credit-out': { stage: 'world', what: 'The credit of all users is used up: their machines stop.' },
  'price-increase': {
    stage: 'world',
    what: 'The host announces a price 25 % higher, which takes effect unless it is rejected.',
    seconds: 'Seconds until it takes effect; 3600 by default.',
  },
} as const satisfies Record<string, FaultEntry>;

/** All faults with their effects. */
export const FAULTS = { ...CALL, ...REPLY, ...HANDLER, ...WORLD };

export type FaultName = keyof typeof FAULTS;
export type CallFaultName = keyof typeof CALL;
export type ReplyFaultName = keyof typeof REPLY;
export type WorldFaultName = keyof typeof WORLD;

/** Subject of a call, for faults that are bound to one instance or host. */
export interface FaultTarget {
  readonly instance?: number;
  readonly host?: number;
}

/** Names by stage, in the order in which they are checked. */
export const CALL_FAULTS = Object.keys(CALL) as readonly CallFaultName[];
export const REPLY_FAULTS = Object.keys(REPLY) as readonly ReplyFaultName[];

/** Returns the entry of a name; undefined if there is no such fault. */
export function faultEntry(name: string): FaultEntry | undefined {
  return Object.hasOwn(FAULTS, name) ? FAULTS[name as FaultName] : undefined;
}

/** Returns true if a name is one of the faults that take effect at once. */
export function isWorldFault(name: string): name is WorldFaultName {
  return Object.hasOwn(WORLD, name);
}
