import type { Mutant } from './mutant.ts';

/** Mutants of the login's queue: progress, fairness, sharing. */
export const QUEUE_MUTANTS: readonly Mutant[] = [
  {
    name: 'refused-asker-loses-turn',
    loses: 'the call to the object whose rental slot is there: it has to come in time by itself',
    file: 'accounts/queue/admission-queue.ts',
    find: '    next.wake();\n',
    replace: '',
  },
  {
    name: 'no-fairness-across-namespaces',
    loses: 'the turn of each namespace in the queue of a login',
    file: 'accounts/queue/fair-queue.ts',
    find: '    if (share) share.servedAt = this.#clock.monotonic();\n',
    replace: '    if (share) share.servedAt = Number.NEGATIVE_INFINITY;\n',
  },
  {
    name: 'search-not-shared',
    loses: 'one search for all objects whose requirements it covers',
    file: 'accounts/queue/search-scheduler.ts',
    find: 'sharers.length > 1 ? coverOf(all) : queries[0];',
    replace: 'sharers.length > 1_000_000 ? coverOf(all) : queries[0];',
  },
  {
    name: 'empty-reply-of-one-disk',
    loses: 'the reply without offers for those that want the same with a larger disk',
    file: 'accounts/queue/search-cover.ts',
    find: '    return covers(isLarger ? { ...query, storageGB: least } : query);',
    replace: '    return covers(isLarger ? { ...query, storageGB } : query);',
  },
  {
    name: 'queue-told-by-generation-only',
    loses: 'the reason Queued over an older reason of the same generation',
    file: 'controllers/gpu-instance/rules/purchase.ts',
    find: 'if (!place || place.waitedMs + place.expectedMs <= SILENCE_MS) {',
    replace: 'if (!place || facts.object.status?.observedGeneration === facts.object.metadata.generation) {',
  },
  {
    name: 'place-told-once',
    loses: 'the position, time and cause of a wait that are other than what was said',
    file: 'controllers/gpu-instance/rules/purchase.ts',
    find: 'if (previous.cause !== now.cause || previous.isSerial !== now.isSerial) return false;',
    replace: 'if (now.at - previous.at < 60_000) return true;',
  },
  {
    name: 'joined-search-asks-alone',
    loses: 'the shared search of objects that only joined one on its way whose reply was cut',
    file: 'accounts/queue/search-scheduler.ts',
    find: 'if (begunFor.has(uid)) this.#shares.set(uid, Math.max(1, Math.floor(begunFor.size / 2)));',
    replace: 'this.#shares.set(uid, Math.max(1, Math.floor(begunFor.size / 2)));',
  },
  {
    name: 'disconnected-keeps-place',
    loses: 'the end of a place in the queue when the account of its object loses its session',
    file: 'controllers/gpu-instance/reconcile.ts',
    find: "function leaveQueues({ purchase: { uid } }: Pick<Observed, 'purchase'>, { accounts }: Deps): void {\n  for (const { queue } of accounts.sessions()) queue.leave(uid);",
    replace:
      "function leaveQueues({ purchase: { uid } }: Pick<Observed, 'purchase'>, { session }: Deps): void {\n  session?.queue.leave(uid);",
  },
  {
    name: 'no-search-backoff',
    loses: 'the growing intervals between the searches of an object without a match',
    file: 'controllers/gpu-instance/rules/purchase.ts',
    find: 'const NOTHING_MAX_MS = 1_800_000;',
    replace: 'const NOTHING_MAX_MS = 5_000;',
  },
  {
    name: 'nothing-found-is-final',
    loses: 'the next search of an object without a match, after its backoff',
    file: 'controllers/gpu-instance/rules/purchase.ts',
    find: 'const afterMs = backoffMs(facts.memory.failures + 1, facts.clock.jitter, maxMs);',
    replace:
      'const afterMs = backoffMs(facts.memory.failures + 1, facts.clock.jitter, maxMs) * (maxMs ? 1_000 : 1);',
  },
  {
    name: 'new-spec-keeps-backoff',
    loses: 'the end of a backoff when the spec changes',
    file: 'controllers/gpu-instance/memory.ts',
    find: '      this.#startOver();\n      this.fields.destroyNotBefore = 0;',
    replace: '      this.fields.destroyNotBefore = 0;',
  },
  {
    name: 'broad-reply-finds',
    loses: 'the smallest disk first, where a broad reply holds offers for others',
    file: 'accounts/queue/search-scheduler.ts',
    find: 'return reply.covers(withItsDisk) && mayHold(reply, withItsDisk);',
    replace: 'return reply.covers(withItsDisk) && reply.offers.length > 0;',
  },
  {
    name: 'shared-reply-rules-nothing-out',
    loses: 'what a reply with offers for others says of larger disks',
    file: 'accounts/queue/search-scheduler.ts',
    find: 'const isRuledOut = covers(query) && !mayHold({ key, offers }, withItsDisk);',
    replace: 'const isRuledOut = covers(query) && offers.length === 0 && withItsDisk !== undefined;',
  },
];
