import type { Mutant } from './mutant.ts';

const GPU = 'controllers/gpu-instance';

/** Mutants of what the operator believes of its environment: responses, clocks, caches and earlier processes. */
export const OUTSIDE_MUTANTS: readonly Mutant[] = [
  {
    name: 'server-error-is-refusal',
    loses: 'the doubt after a rent call at which the server failed',
    file: 'markets/vast/errors/classify-failure.ts',
    find: "return CERTAIN_FOR_RENT.has(kind) ? 'refused' : 'unknown';",
    replace: "return CERTAIN_FOR_RENT.has(kind) || kind === 'unavailable' ? 'refused' : 'unknown';",
  },
  {
    name: 'waits-by-wall-clock',
    loses: 'the monotonic clock, for all that is waited for',
    file: `${GPU}/memory.ts`,
    find: 'return this.#wall + this.#clock.monotonic() - this.#monotonic;',
    replace: 'return this.#clock.now();',
  },
  {
    name: 'lists-by-wall-clock',
    loses: 'the translation of the times of lists',
    file: `${GPU}/memory.ts`,
    find: ': this.now() - took;',
    replace: ': begunAt;',
  },
  {
    name: 'records-by-wall-clock',
    loses: 'the translation of times on record',
    file: `${GPU}/memory.ts`,
    find: 'return this.now() - Math.max(0, this.#clock.now() - wall);',
    replace: 'return wall;',
  },
  {
    name: 'cut-list-is-dated',
    loses: 'the doubt about a list in the middle of which a clock was set back',
    file: 'market/feed-state.ts',
    find: 'took < 0 || took > MAX_LIST_MS',
    replace: 'took > MAX_LIST_MS',
  },
  {
    name: 'grace-in-memory',
    loses: 'the age that an open purchase had before this process began',
    file: `${GPU}/memory.ts`,
    find: 'const ageMs = Math.max(0, (serviceNow ?? issuedAt) - issuedAt);',
    replace: 'const ageMs = Math.min(0, (serviceNow ?? issuedAt) * 0);',
  },
  {
    name: 'surplus-without-winner',
    loses: 'the list that shows the machine which is to stay, before a second one goes',
    file: `${GPU}/surplus.ts`,
    find: 'return winnerIsListed && newest === attempt;',
    replace: 'return (winnerIsListed || row.id > 0) && newest === attempt;',
  },
  {
    name: 'destroyed-not-proven',
    loses: 'the proof that all machines which a deletion destroyed are gone',
    file: `${GPU}/rules/deleting.ts`,
    find: '  const ending = [...(owned ? [owned] : []), ...facts.memory.destroys];\n',
    replace: '  const ending = owned ? [owned] : [];\n',
  },
  {
    name: 'departed-not-counted',
    loses: 'the rentals of objects that are gone, in the sums of an account',
    file: `${GPU}/act.ts`,
    find: 'if (!statusWriter || memory.isInAccountRecord || !(hasRented || destroyed.length > 0)) return;',
    replace:
      'if (statusWriter || !statusWriter || memory.isInAccountRecord || !(hasRented || destroyed.length > 0)) return;',
  },
  {
    name: 'sweep-despite-breaker',
    loses: 'the breaker before a sweep, and before its destroy is sent',
    file: 'controllers/orphan-sweep/decide.ts',
    find: "  { name: 'the breaker is open', applies: (_, { breaker }) => breaker.type !== 'closed' },\n",
    replace: '',
  },
  {
    name: 'relist-keeps-vanished',
    loses: 'the objects that a new list does not have any more',
    file: 'runtime/list-watch/informer.ts',
    find: '      ...vanished.map((key) => () => this.#store.forget(key)),\n',
    replace: '      ...vanished.slice(0, 0).map((key) => () => this.#store.forget(key)),\n',
  },
  {
    name: 'probe-not-paced',
    loses: 'the pace that the proof of a key shares with the calls that follow it',
    file: 'accounts/connection.ts',
    find: '?? this.#create(login, pacer, user.market)',
    replace: '?? this.#create(login, this.#newPacer(), user.market)',
  },
  {
    name: 'proofs-each-paced',
    loses: 'the one pace of all accounts that prove a login at a time',
    file: 'accounts/connection.ts',
    find: 'this.#pacers.get(text) ?? undecided',
    replace: '(own?.isOfLogin ? this.#pacers.get(text) : undecided)',
  },
  {
    name: 'date-from-any-reply',
    loses: 'the rule that only good replies which show machines tell the time',
    file: 'markets/vast/http/request.ts',
    find: '    if (reply.unreadable !== undefined) throw malformed(call, reply.status, reply.unreadable);\n',
    replace:
      "    this.#options.onGoodReply?.({ area: 'instances', effect: 'read', headers: reply.headers });\n    if (reply.unreadable !== undefined) throw malformed(call, reply.status, reply.unreadable);\n",
    also: [
      {
        file: 'accounts/service-clock.ts',
        find: 'if (agreed < REPLIES_TO_BELIEVE) {',
        replace: 'if (agreed < 0) {',
      },
      {
        file: 'accounts/service-clock.ts',
        find: 'const isSettling = monotonic < this.#settlesAt;',
        replace: 'const isSettling = false;',
      },
    ],
  },
  {
    name: 'one-reply-moves-time',
    loses: 'the two later replies that must agree with a step of the time',
    file: 'accounts/service-clock.ts',
    find: 'if (agreed < REPLIES_TO_BELIEVE) {',
    replace: 'if (agreed < 0) {',
    also: [
      {
        file: 'accounts/service-clock.ts',
        find: 'const isSettling = monotonic < this.#settlesAt;',
        replace: 'const isSettling = false;',
      },
    ],
  },
  {
    name: 'step-counts-at-once',
    loses: 'the minute for which a step of the time has to hold before anything is charged by it',
    file: 'accounts/service-clock.ts',
    find: 'const isSettling = monotonic < this.#settlesAt;',
    replace: 'const isSettling = false;',
  },
  {
    name: 'limit-by-one-list',
    loses: 'the two complete lists that must agree on the time before a limit destroys',
    file: `${GPU}/facts.ts`,
    find: 'confirmedNow: confirmedNow(serviceTime, Math.min(clock.now, clock.steadyNow)),',
    replace: 'confirmedNow: serviceNow(serviceTime, clock.now),',
    also: [
      {
        file: 'accounts/service-clock.ts',
        find: 'if (agreed < REPLIES_TO_BELIEVE) {',
        replace: 'if (agreed < 0) {',
      },
    ],
  },
  {
    name: 'swept-by-one-list',
    loses: 'the two complete lists that must agree on the time before a sweep destroys',
    file: 'controllers/orphan-sweep/observe.ts',
    find: 'now: confirmedNow(first.serviceClock.now(), sources.clock.now()),',
    replace: 'now: serviceNow(first.serviceClock.now(), sources.clock.now()),',
  },
  {
    name: 'cached-list-is-believed',
    loses: 'the doubt about a list that a cache has held since before it was asked for',
    file: 'markets/vast/instances/instances.ts',
    find: '  if (Number(age ?? 0) > 0) throw',
    replace: '  if (Number(age ?? 0) > Number.MAX_VALUE) throw',
  },
  {
    name: 'doubtful-machine-taken',
    loses: 'the doubt about a machine without a label that a person may have rented',
    file: `${GPU}/facts.ts`,
    find: 'candidates.length === 1 && unsure.length === 0',
    replace: 'candidates.length === 1',
  },
];
