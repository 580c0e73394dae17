import type { Mutant } from './mutant.ts';

const RULES = 'controllers/gpu-instance/rules';

/** What a person has written on an object. */
export const RESTRAINT_MUTANTS: readonly Mutant[] = [
  {
    name: 'paused-is-replaced',
    loses: 'the pause before a replacement',
    file: `${RULES}/held-back.ts`,
    find: "  if (object.spec.paused) return says('Paused');\n",
    replace: '',
  },
  {
    name: 'held-is-replaced',
    loses: 'the annotation that holds a machine',
    file: `${RULES}/held-back.ts`,
    find: "  if (object.metadata.annotations?.[annotations.hold] !== undefined) return says('Held');\n",
    replace: '',
  },
  {
    name: 'lost-is-replaced-anyway',
    loses: 'the policy that a lost machine is not replaced',
    file: `${RULES}/held-back.ts`,
    find: "  if (wish.kind === 'lost' && object.spec.replacement.policy === 'Never')\n",
    replace:
      "  if (wish.kind === 'lost' && object.spec.replacement.policy !== 'Never' && object.spec.paused)\n",
  },
  {
    name: 'bought-anew-anyway',
    loses: 'the policy that none follows a machine that was lost',
    file: `${RULES}/unrented.ts`,
    find: "  return lost && spec.replacement.policy === 'Never'\n",
    replace: "  return lost && spec.replacement.policy === 'Never' && spec.paused\n",
  },
  {
    name: 'vanished-is-bought-anew',
    loses: 'the question before another machine follows one that vanished',
    file: `${RULES}/unrented.ts`,
    find: "  if (last.reason === 'Vanished' && spec.onVanish === 'Hold') {",
    replace: "  if (last.reason === 'Vanished' && spec.onVanish === 'Hold' && spec.paused) {",
  },
  {
    name: 'old-spec-is-replaced-anyway',
    loses: 'the strategy that a new spec replaces nothing',
    file: `${RULES}/running.ts`,
    find: "isOutdated(observed) && observed.object.spec.updateStrategy.type === 'Replace'\n",
    replace: 'isOutdated(observed)\n',
  },
  {
    name: 'limit-ignored',
    loses: 'the end of a machine at the limits of its object',
    file: `${RULES}/running.ts`,
    find: "      return state.type === 'reached' ? applyLimit(observed, held, state.detail) : undefined;\n",
    replace:
      "      return state.type === 'reached' && observed.object.spec.paused ? applyLimit(observed, held, state.detail) : undefined;\n",
  },
  {
    name: 'limit-by-own-clock',
    loses: "the service's clock for the limits of an object",
    file: 'controllers/gpu-instance/judged-time.ts',
    find: "  if (time.type === 'stale') return undefined;\n  return time.type === 'known' ? time.at : observed.now;\n",
    replace: "  return time.type === 'unknown' ? observed.now : observed.now + 0;\n",
  },
];
