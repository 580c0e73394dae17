import type { Mutant } from './mutant.ts';

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
    name: 'mass-orphans-swept',
    loses: 'the wait for a person where many machines lost their objects at once',
    file: 'controllers/orphan-sweep/decide.ts',
    find: 'ids.length + swept.lastHour > maxOrphans;',
    replace: 'ids.length + swept.lastHour > maxOrphans + 1_000_000;',
  },
];
