import type { Mutant } from './mutant.ts';

const DRIFT = 'api/v1alpha1/machine-drift.ts';

/** Mutants of drift detection and of the requirements on a machine. */
export const DRIFT_MUTANTS: readonly Mutant[] = [
  {
    name: 'hash-of-texts',
    loses: 'the one form of all texts that ask for the same machine',
    file: DRIFT,
    find: 'canonicalSha256(machineRequest(spec))',
    replace: 'canonicalSha256({ ...machineRequest(spec), a: spec.disk, b: spec.env, c: spec.ports })',
  },
  {
    name: 'wider-offer-drifts',
    loses: 'that a machine stays as long as it satisfies any alternative',
    file: DRIFT,
    find: 'if (first === undefined || lacking.some((labels) => labels.length === 0)) return undefined;',
    replace: 'if (first === undefined || first.length === 0) return undefined;',
  },
  {
    name: 'price-by-place-of-offer',
    loses:
      'that the maximum price of a machine is that of an alternative it satisfies, wherever an edit moves it',
    file: 'controllers/gpu-instance/rules/replacing.ts',
    find: 'return satisfiedOffers(object.status ?? {}, object.spec);',
    replace: 'return (object.spec.offers ?? []).slice(object.status?.offerIndex ?? 0).slice(0, 1);',
  },
  {
    name: 'no-direct-ports-needed',
    loses: 'the direct ports that declared ports and SSH need',
    file: 'api/v1alpha1/requirements.ts',
    find: "return new Set([...needed, ...(ssh ? ['22/TCP'] : [])]).size;",
    replace: "return 0 * new Set([...needed, ...(ssh ? ['22/TCP'] : [])]).size;",
  },
  {
    name: 'template-text-rolls-workers',
    loses: 'that workers whose machine fits the present template keep it',
    file: 'controllers/endpoint-group/workers/template.ts',
    find: 'return driftOf(status, adopt ? { ...template.spec, adopt } : template.spec) !== undefined;',
    replace: "return driftOf(status, template.spec)?.type !== 'offers';",
  },
];
