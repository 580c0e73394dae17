import type { Mutant } from './mutant.ts';

/** Whose machine it is, and when sweeping stops. */
export const OWNERSHIP_MUTANTS: readonly Mutant[] = [
  {
    name: 'any-status-teaches-labels',
    loses: 'the claim of a machine by which an account learns that labels do not come back',
    file: 'accounts/watch/feed-watch.ts',
    find: 'return new Set(verified.map(({ instanceId }) => instanceId));',
    replace:
      'return new Set([...verified, ...objects()].flatMap(({ instanceId }) => (instanceId === undefined ? [] : [instanceId])));',
  },
  {
    name: 'no-mac',
    loses: 'the codes of labels, claims and intents',
    file: 'ownership/key-ring.ts',
    find: '  return ring.some((key) => timingSafeEqual(Buffer.from(macOf(key, purpose, parts)), given));',
    replace: '  return ring.length > 0 && given.length > 0;',
  },
  {
    name: 'label-window-ignored',
    loses: 'the time in which a label fits a machine',
    file: 'ownership/ours.ts',
    find: "  if (inside) return { type: 'labelled', facts };",
    replace: "  if (inside || row.id > 0) return { type: 'labelled', facts };",
  },
  {
    name: 'install-id-and-mac-ignored',
    loses: 'the installation in a label, and its code',
    file: 'ownership/label.ts',
    find: "  if (!macVerifies(identity.keys, retained ? 'retained' : 'label', { parts, mac })) return undefined;\n  return { uid",
    replace: '  return { uid',
  },
  {
    name: 'claim-not-verified',
    loses: 'the code of a recorded machine',
    file: 'ownership/claim.ts',
    find: "return claim !== undefined && macVerifies(keys, 'claim', { parts: claimParts(facts), mac: claim });",
    replace: 'return claimParts(facts).length > 0 && keys.length > 0 && claim !== null;',
  },
  {
    name: 'sweep-first-sight',
    loses: 'the second sweep before an orphan counts',
    file: 'controllers/orphan-sweep/decide.ts',
    find: 'const SWEEPS_TO_BELIEVE = 2;',
    replace: 'const SWEEPS_TO_BELIEVE = 1;',
  },
  {
    name: 'sweep-young',
    loses: 'the age before an orphan counts',
    file: 'controllers/orphan-sweep/decide.ts',
    find: 'return startedAt !== undefined && now !== undefined && now - startedAt >= ageMs;',
    replace: 'return startedAt !== undefined && now !== undefined && now - startedAt >= 0 * ageMs;',
  },
  {
    name: 'orphan-age-by-label',
    loses: "the age of an orphan by its own start date, not by its label's",
    file: 'controllers/orphan-sweep/observe.ts',
    find: '    startedAt: row.startedAt,\n',
    replace: '    startedAt: facts.issuedAt,\n',
  },
  {
    name: 'wired-brake-default',
    loses: 'the brake on the dollars an hour of an account that sets no limit',
    file: 'config/options.ts',
    find: "lower limit',\n    defaultValue: '250',\n  },\n  pacing: {",
    replace: "lower limit',\n    defaultValue: '250000000',\n  },\n  pacing: {",
  },
  {
    name: 'late-label-is-no-machine',
    loses:
      'the machine that carries the label of the open purchase outside its window, before the next purchase',
    file: 'controllers/gpu-instance/settle.ts',
    find: "  if (late) return { type: 'late', intent, machine: late };\n",
    replace: '',
  },
  {
    name: 'late-machine-forgotten',
    loses: 'the same for a purchase that was closed without a machine',
    file: 'controllers/gpu-instance/settle.ts',
    find: 'const machine = hadMachine ? undefined : lateMachine(observed, intent.intent);',
    replace: 'const machine = hadMachine ? lateMachine(observed, intent.intent) : undefined;',
  },
  {
    name: 'late-machine-never-swept',
    loses: 'the sweep of machines that began after the window of their label',
    file: 'accounts/watch/machine-census.ts',
    find: 'return isLate && !copies?.has(id) && purchases.get(purchaseKey(facts))?.size === 1;',
    replace: 'return isLate && !copies?.has(id) && purchases.get(purchaseKey(facts))?.size === 0;',
  },
  {
    name: 'copy-forgotten',
    loses: 'the record that a machine carries a copy of our label',
    file: 'controllers/marketplace-account/status.ts',
    find: '    ...labelCopies(observed),\n',
    replace: '',
  },
  {
    name: 'sweep-never',
    loses: 'the destroy of orphans',
    file: 'controllers/orphan-sweep/decide.ts',
    find: 'const destroys = kept === undefined ? sweepable(observed, orphans).map(destroy) : [];',
    replace: 'const destroys = kept === undefined ? orphans.slice(0, 0).map(destroy) : [];',
  },
  {
    name: 'sweep-despite-report',
    loses: 'the orphan policy',
    file: 'controllers/orphan-sweep/decide.ts',
    find: "applies: (_, { policy }) => policy === 'Report' },",
    replace: "applies: (_, { policy }) => policy !== 'Report' && policy !== 'Destroy' },",
  },
  {
    name: 'sweep-without-lease',
    loses: 'the lease before an orphan is destroyed',
    file: 'controllers/orphan-sweep/observe.ts',
    find: '    isLeader: sources.isLeader(),',
    replace: '    isLeader: sources.isLeader() || sweep.list.begunAt > 0,',
    also: [
      {
        file: 'controllers/orphan-sweep/act.ts',
        find: '  if (!mayLeave()) return;\n  const session =',
        replace: '  const session =',
      },
      {
        file: 'controllers/orphan-sweep/act.ts',
        find: 'destroy(instanceId, { mayLeave });',
        replace: 'destroy(instanceId);',
      },
    ],
  },
];
