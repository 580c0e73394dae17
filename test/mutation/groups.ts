import { globSync } from 'node:fs';

/** Pure files that are mutated together, and the tests that have to notice. */
export interface Group {
  readonly name: string;
  readonly files: readonly string[];
  readonly tests: readonly string[];
}

interface Globs {
  readonly name: string;
  readonly files: readonly string[];
  readonly tests: readonly string[];
}

/** Files that decide about money, by folder; without types, wiring and effects. */
const GLOBS: readonly Globs[] = [
  {
    name: 'instances',
    files: [
      'src/controllers/gpu-instance/rules/*.ts',
      'src/controllers/gpu-instance/{billing,candidates,child-writes,children,conditions,deadlines,decide,decision,facts,failure,fuse,gone,history,idle,lease,lease-renewal,limits,machine-fields,memory,observe,offers,publication,record-proof,rental,retry,self-end-check,self-end-proof,sent-start,settlement,stage,still-billing,surplus,unlabelled-proof,unsupported}.ts',
    ],
    tests: ['src/controllers/gpu-instance/**/*.test.ts'],
  },
  {
    name: 'accounts',
    files: [
      'src/instance/*.ts',
      'src/accounts/{account-objects,admission,api-keys,avoid-list,breaker,budget-rules,feed-observer,inventory,namespace-budgets,pending-rentals,planned-ends,service-clock,slow-replacement,spend-limits}.ts',
      'src/accounts/beliefs/*.ts',
      'src/accounts/queue/*.ts',
      'src/accounts/installation/rental-traces.ts',
      'src/ownership/{claim,identity,intent,key-ring,label,login,ownership}.ts',
      'src/lib/{deadline,money,networks,quantity,text,time}.ts',
    ],
    tests: ['src/{instance,accounts,ownership,lib}/**/*.test.ts'],
  },
  {
    name: 'groups',
    files: [
      'src/controllers/endpoint-group/{actions,conditions,counts,decide,explain,facts,memory,status,times}.ts',
      'src/controllers/endpoint-group/load/{gateway-intake,http-pull,pickers,prometheus,push,sources,state,view}.ts',
      'src/controllers/endpoint-group/publish/{endpoints,publisher,service,slices}.ts',
      'src/controllers/endpoint-group/autoscale/{autoscale,bounds,candidates,capacity,choose-workers,cover,plan}.ts',
      'src/controllers/endpoint-group/workers/{template,worker}.ts',
    ],
    tests: [
      'src/controllers/endpoint-group/{act,actions,broken-workers,carry-out,conditions,decide,explain,gateway,memory,situations}.test.ts',
      'src/controllers/endpoint-group/{autoscale,load,publish,workers}/*.test.ts',
    ],
  },
  {
    name: 'accounts on record',
    files: ['src/controllers/marketplace-account/{conditions,decide,incidents,key-proof,status}.ts'],
    tests: [
      'src/controllers/marketplace-account/{act,breaker-record,decide,figures,key-proof,mass-orphans,rollback,situations}.test.ts',
    ],
  },
  {
    name: 'ledger',
    files: ['src/ledger/*.ts'],
    tests: ['src/ledger/*.test.ts'],
  },
  {
    name: 'budgets',
    files: ['src/controllers/spend-budget/decide.ts'],
    tests: ['src/controllers/spend-budget/*.test.ts'],
  },
  {
    name: 'drift',
    files: ['src/api/v1alpha1/machine-drift.ts'],
    tests: ['src/api/v1alpha1/machine-drift.test.ts'],
  },
  {
    name: 'marketplace',
    files: ['src/markets/vast/offers/{offer-fields,query-text}.ts', 'src/market/pacing.ts'],
    tests: ['src/market/{pacing,slow-down}.test.ts', 'src/markets/vast/offers/*.test.ts'],
  },
  {
    name: 'queue',
    files: ['src/runtime/{owned-objects,work-queue}.ts'],
    tests: ['src/runtime/{owned-objects,work-queue}.test.ts'],
  },
  {
    name: 'sweep',
    files: ['src/controllers/orphan-sweep/decide.ts'],
    tests: ['src/controllers/orphan-sweep/decide.test.ts'],
  },
];

/** Returns the groups with their files in `root`. Throws if a pattern matches nothing: it is outdated. */
export function groupsIn(root: string): readonly Group[] {
  return GLOBS.map(({ name, files, tests }) => ({
    name,
    files: files.flatMap((pattern) => found(root, pattern)).filter((path) => !path.endsWith('.test.ts')),
    tests: tests.flatMap((pattern) => found(root, pattern)).filter((path) => !path.includes('integration')),
  }));
}

function found(root: string, pattern: string): readonly string[] {
  const paths = globSync(pattern, { cwd: root });
  if (paths.length === 0) throw new Error(`test/mutation/groups.ts: no file is ${pattern}`);
  return paths.sort();
}
