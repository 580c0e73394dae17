import type { Mutant } from './mutant.ts';

const GPU = 'controllers/gpu-instance';

/** What keeps machines that fail together from being destroyed together. */
export const OUTAGE_MUTANTS: readonly Mutant[] = [
  {
    name: 'breaker-off',
    loses: 'the breaker on mass failure',
    file: 'accounts/watch/breaker.ts',
    find: 'return unhealthy > allowed || areAll;',
    replace: 'return unhealthy > allowed + 1_000_000 && areAll;',
  },
  {
    name: 'breaker-misses-creeping',
    loses: 'the breaker on machines that turn bad one after the other',
    file: 'accounts/watch/breaker.ts',
    find: 'return spreads || isRecovering;',
    replace: 'return (spreads && most < 0) || isRecovering;',
  },
  {
    name: 'breaker-by-edge',
    loses: 'the level by which the breaker stays open as long as machines are bad',
    file: 'accounts/watch/breaker.ts',
    find: 'const isLevel = isMass(health, allowed);',
    replace: 'const isLevel = !memory.incident && isMass(health, allowed);',
  },
  {
    name: 'breaker-ignores-failed-lists',
    loses: 'the breaker on a failing list',
    file: 'accounts/watch/breaker.ts',
    find: "if (poll.type === 'failed') return afterFailure(memory, poll.at);",
    replace: "if (poll.type === 'failed') return memory;",
  },
  {
    name: 'breaker-closes-at-once',
    loses: 'the calm polls before the breaker closes',
    file: 'accounts/watch/breaker.ts',
    find: 'const POLLS_TO_CLOSE = 2;',
    replace: 'const POLLS_TO_CLOSE = 0;',
  },
  {
    name: 'only-machine-tolerated',
    loses: 'the breaker for an account with one machine whose host is silent',
    file: 'accounts/watch/breaker.ts',
    find: '(machines > 1 || unseen === 1)',
    replace: 'machines > 1',
  },
  {
    name: 'tolerance-goes-on',
    loses: 'the tolerance that stands still while the breaker is open',
    file: 'accounts/watch/held-spans.ts',
    find: 'return until - from - held;',
    replace: 'return until - from - 0 * held;',
  },
  {
    name: 'all-at-once-after-hold',
    loses: 'the turns by which machines are replaced after the maximum hold',
    file: `${GPU}/rules/held-back.ts`,
    find: "breaker.type === 'slow' && breaker.turn === uid && kind === 'lost'",
    replace: "breaker.type === 'slow' && uid !== '' && kind === 'lost'",
  },
  {
    name: 'outage-blames-hosts',
    loses: 'the innocence of hosts that fail together',
    file: `${GPU}/history.ts`,
    find: '  if (factsOf(observed)?.blames === false) return undefined;\n',
    replace: '  factsOf(observed);\n',
  },
  {
    name: 'lost-without-read',
    loses: 'the single read of a machine with a silent host, right before its destroy',
    file: `${GPU}/rules/failing.ts`,
    find: "return held.state.reason !== 'Exited' && isDestroy(step) ?",
    replace: "return held.state.reason === 'Exited' && isDestroy(step) ?",
  },
  {
    name: 'queued-call-not-decided-again',
    loses: 'the last look at what a queued destroy was decided on',
    file: `${GPU}/pass.ts`,
    find: 'return seen !== undefined && stillDecides(seen, { before: observed, action });',
    replace: 'return seen !== undefined && (true || stillDecides(seen, { before: observed, action }));',
  },
  {
    name: 'lost-by-old-list',
    loses: 'the list that was begun after the tolerance was over',
    file: `${GPU}/rules/failing.ts`,
    find: 'toleratedAt(observed, since, observed.list?.begunSteady) >= patience;',
    replace: 'toleratedAt(observed, since, observed.steadyNow) >= patience;',
  },
  {
    name: 'mass-orphans-swept',
    loses: 'the wait for a person where many machines lost their objects at once',
    file: 'controllers/orphan-sweep/decide.ts',
    find: 'ids.length + swept.lastHour.size > maxOrphans;',
    replace: 'ids.length + swept.lastHour.size > maxOrphans + 1_000_000;',
  },
  {
    name: 'settled-at-every-sweep',
    loses: 'the minute for which a sweep believes its last list of all objects',
    file: 'controllers/orphan-sweep/observe.ts',
    find: 'if (sources.memory.isSettled(login, suspects, sources.clock.monotonic())) {',
    replace: 'if (sources.memory.isSettled(login, [...suspects, 0], sources.clock.monotonic())) {',
  },
];
