import type { Mutant } from './mutant.ts';

const RULES = 'controllers/gpu-instance/rules';

/** Mutants of restraints that a person sets on an object. */
export const RESTRAINT_MUTANTS: readonly Mutant[] = [
  {
    name: 'paused-is-replaced',
    loses: 'the pause before a replacement',
    file: `${RULES}/ending.ts`,
    find: "  return object.spec.paused ? blocker('Paused') : undefined;\n",
    replace: '  return undefined;\n',
  },
  {
    name: 'limit-reached-for-good',
    loses: 'another look at a limit that a wrong time of the service has reached (H2)',
    file: `${RULES}/unrented.ts`,
    find: '10_000 } : { afterMs: LIMIT_RETRY_MS },\n',
    replace: '10_000 } : { afterMs: LIMIT_RETRY_MS * 1_000 },\n',
  },
  {
    name: 'held-is-replaced',
    loses: 'the annotation that holds a machine',
    file: `${RULES}/ending.ts`,
    find: "  if (object.metadata.annotations?.[annotations.hold] !== undefined) return blocker('Paused', HELD);\n",
    replace: '',
  },
  {
    name: 'lost-is-replaced-anyway',
    loses: 'the policy that a lost machine is not replaced',
    file: `${RULES}/ending.ts`,
    find: "return replacement.policy === 'Never' ? ",
    replace: "return replacement.policy === 'Never' && facts.object.spec.paused ? ",
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
    find: "  if (facetsOf(last.reason).endsByItself && spec.onVanish === 'Hold' && !isRun(facts.object)) {",
    replace:
      "  if (facetsOf(last.reason).endsByItself && spec.onVanish === 'Hold' && spec.paused && !isRun(facts.object)) {",
  },
  {
    name: 'one-search-is-enough',
    loses: 'the second search that shows an offer before a machine that works ends for it',
    file: `${RULES}/in-hand.ts`,
    find: '  if (!first) return keep({ begunAt: latest, offerIds, misses: 0 });',
    replace: '  first ??= { begunAt: Number.NEGATIVE_INFINITY, offerIds, misses: 0 };',
  },
  {
    name: 'old-spec-is-replaced-anyway',
    loses: 'the strategy that a new spec replaces nothing',
    file: `${RULES}/replacing.ts`,
    find: "const drift = spec.updateStrategy.type === 'Replace' ? driftOf(status ?? {}, spec) : undefined;",
    replace: 'const drift = driftOf(status ?? {}, spec);',
  },
  {
    name: 'limit-ignored',
    loses: 'the end of a machine at the limits of its object',
    file: `${RULES}/replacing.ts`,
    find: "if (limit.type !== 'reached') return undefined;",
    replace: "if (limit.type !== 'reached' || !facts.object.spec.paused) return undefined;",
  },
  {
    name: 'limit-by-own-clock',
    loses: "the service's clock for the limits of an object",
    file: 'controllers/gpu-instance/facts.ts',
    find: 'confirmedNow: confirmedNow(serviceTime, Math.min(clock.now, clock.steadyNow)),',
    replace: 'confirmedNow: clock.now,',
    also: [
      {
        file: 'controllers/gpu-instance/facts.ts',
        find: 'serviceNow: serviceNow(serviceTime, clock.now),',
        replace: "serviceNow: serviceNow({ type: 'unknown' }, clock.now),",
      },
    ],
  },
  {
    name: 'adopted-with-its-age',
    loses: 'the age of an adopted machine, which begins when it is taken over',
    file: `${RULES}/adopting.ts`,
    find: '  const fields = rentedFields(facts, machine, from);',
    replace: '  const fields = rentedFields(facts, machine, row.startedAt ?? from);',
  },
  {
    name: 'adopted-with-its-debts',
    loses: 'the cost of an adopted machine, which begins when it is taken over',
    file: `${RULES}/adopting.ts`,
    find: '      rentedAt: formatTime(beganAt(facts, row) ?? from),\n',
    replace: '',
  },
  {
    name: 'held-is-frozen',
    loses: 'the stop of a machine whose replacement is held back',
    file: `${RULES}/replacing.ts`,
    find: 'if (!planned || blockedBy(facts, planned)) return undefined;',
    replace:
      'if (!planned) return undefined;\n  const frozen = showBlockedEnd(facts, planned);\n  if (frozen) return frozen;',
  },
  {
    name: 'held-without-a-price',
    loses: 'the price of a machine whose replacement is held back',
    file: `${RULES}/ending.ts`,
    find: '    fields: row ? seenFields(facts, row) : carriedFields(facts),',
    replace: '    fields: row && planned.kind === "limit" ? seenFields(facts, row) : carriedFields(facts),',
    also: [
      {
        file: `${RULES}/replacing.ts`,
        find: 'if (!planned || blockedBy(facts, planned)) return undefined;',
        replace:
          "if (!planned || facts.object.spec.powerState !== 'Running') return undefined;\n  const frozen = showBlockedEnd(facts, planned);\n  if (frozen) return frozen;",
      },
    ],
  },
  {
    name: 'replaced-without-an-offer',
    loses: 'the offer in hand before a machine that works is destroyed',
    file: `${RULES}/replacing.ts`,
    find: '  const hand = handOf(facts, planned);',
    replace: '  if (planned) return endMachine(facts, planned);\n  const hand = handOf(facts, planned);',
  },
  {
    name: 'rolled-out-without-an-offer',
    loses: 'the offer in hand before a worker is ended for a new template',
    file: 'controllers/endpoint-group/autoscale/plan.ts',
    find: '    .filter((worker) => worker.isWithoutSubstitute !== true)\n',
    replace: '',
  },
  {
    name: 'first-stop-believed',
    loses: 'the agreement on the state by which a new machine is first charged',
    file: 'controllers/gpu-instance/billing.ts',
    find: 'isOnRecord ? isAsStopped === wasRunning : isAsStopped && wasRunning;',
    replace: 'isOnRecord ? isAsStopped === wasRunning : isAsStopped && !isAsStopped;',
  },
  {
    name: 'priced-by-own-clock',
    loses: "the service's clock for what a machine has cost before its price changes",
    file: 'controllers/gpu-instance/billing.ts',
    find: '  const now = facts.clock.serviceNow;\n',
    replace: '  const now: number | undefined = facts.clock.now;\n',
  },
  {
    name: 'taken-back-is-sent',
    loses: 'the look at what is wanted once a call has waited for its place',
    file: 'controllers/gpu-instance/reconcile.ts',
    find: '  return isNewer || (hasHold(newest) && !hasHold(decidedOn));\n',
    replace: '  return hasHold(newest) && !hasHold(decidedOn) && isNewer;\n',
  },
  {
    name: 'destroys-by-copy',
    loses: 'the read of an object from the API server right before its machine is destroyed',
    file: 'controllers/gpu-instance/act.ts',
    find: 'isTakenBack = !mayLeave() || !(await isStillDecidedNow());',
    replace: 'isTakenBack = !mayLeave() || (await isStillDecidedNow().then(() => false));',
  },
  {
    name: 'trusts-slow-read',
    loses: 'the second read where the answer to the one right before a destroy took longer than a second',
    file: 'runtime/list-watch/current-objects.ts',
    find: 'if (clock.monotonic() - askedAt <= FRESH_MS) return object;',
    replace: 'if (clock.monotonic() >= askedAt) return object;',
  },
  {
    name: 'hold-lifts-limit',
    loses: 'the end of a held machine at the limits of its object',
    file: `${RULES}/ending.ts`,
    find: '  limit: [byMassEnds],\n',
    replace: '  limit: [byPerson, byMassEnds],\n',
  },
];
