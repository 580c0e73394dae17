import type { Mutant } from './mutant.ts';

/** Mutants of the checks on what an object's author can reach by naming it. */
export const ACCESS_MUTANTS: readonly Mutant[] = [
  {
    name: 'key-secret-in-env',
    loses:
      'the refusal of a Secret with the API key of an account in env, onStartFrom and imagePullSecretRef',
    file: 'accounts/guarded-secrets.ts',
    find: 'if (account) return `holds the API key',
    replace: "if (account?.metadata.name === '') return `holds the API key",
  },
  {
    name: 'group-ceiling-without-price',
    loses: 'the price limit of a new worker whose template leaves the price to the account',
    file: 'controllers/endpoint-group/autoscale/plan.ts',
    find: 'const isLimited = input.ceiling !== undefined && input.usualPrice !== undefined;',
    replace: 'const isLimited = input.ceiling !== undefined && input.usualPrice === -1;',
  },
  {
    name: 'connection-secret-of-any-type',
    loses: 'the type by which admission knows the Secrets that the operator may write',
    file: 'controllers/gpu-instance/children.ts',
    find: 'type: CONNECTION_SECRET_TYPE,',
    replace: "type: CONNECTION_SECRET_TYPE.replace(/.*/, 'Opaque'),",
  },
  {
    name: 'promql-unenforced',
    loses: 'the namespace that goes with each query of a group',
    file: 'controllers/endpoint-group/load/prometheus.ts',
    find: 'const send = (query: string) => this.#sendQuery(prometheus, { query, ...scope });',
    replace:
      "const send = (query: string) => this.#sendQuery(prometheus, { query, ...(query === '' && scope) });",
  },
  {
    name: 'drain-cuts-requests',
    loses: 'the time that a leaving worker has to finish the requests that it reports',
    file: 'controllers/endpoint-group/actions.ts',
    find: 'reported !== undefined && reported.count > 0 && input.now - reported.at < input.silentMs;',
    replace: 'reported !== undefined && reported.count > 0 && input.now - reported.at < -input.silentMs;',
  },
];
