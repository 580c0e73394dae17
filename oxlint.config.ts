import { defineConfig } from 'oxlint';
import type { RefusedImport } from './scripts/lint/dynamic-imports.ts';

/** Layers from the top down. A layer imports what stands below it, minus its `refuses`. */
const LAYERS = [
  'main',
  'config',
  'cli',
  'ui',
  'replay',
  'server',
  'gateway',
  'controllers',
  'accounts',
  'views',
  'reach',
  'ledger',
  'instance',
  'ownership',
  'runtime',
  'simulator',
  'markets',
  'market',
  'api',
  'lib',
] as const;
type Layer = (typeof LAYERS)[number];

const CONTROLLERS = [
  'gpu-instance',
  'endpoint-group',
  'marketplace-account',
  'orphan-sweep',
  'spend-budget',
] as const;
type Controller = (typeof CONTROLLERS)[number];

/** Why each layer may not see the others: the text a person reads when the rule bites. */
const ARROWS: readonly { layer: Layer; refuses: readonly Layer[]; because: string }[] = [
  {
    layer: 'lib',
    refuses: LAYERS.filter((layer) => layer !== 'lib'),
    because: 'lib is the ground everything stands on; it imports nothing of ours.',
  },
  {
    layer: 'api',
    refuses: LAYERS.filter((layer) => layer !== 'lib' && layer !== 'api'),
    because:
      'api is what users write and the source of the CRDs; how it is carried out must not leak into it.',
  },
  {
    layer: 'market',
    refuses: LAYERS.filter((layer) => layer !== 'lib' && layer !== 'market'),
    because: 'market is the port to any market: it imports lib only, and no market.',
  },
  {
    layer: 'markets',
    refuses: LAYERS.filter((layer) => !['lib', 'market', 'markets'].includes(layer)),
    because: 'A client of a market works without Kubernetes; it imports market and lib only.',
  },
  {
    layer: 'simulator',
    refuses: LAYERS.filter((layer) => layer !== 'lib' && layer !== 'simulator'),
    because:
      'The simulator is a marketplace of its own: it knows neither the operator nor the client, because a shared mistake would pass every test.',
  },
  {
    layer: 'runtime',
    refuses: LAYERS.filter((layer) => layer !== 'lib' && layer !== 'runtime'),
    because: 'runtime knows no GPU word; it imports lib only.',
  },
  {
    layer: 'ownership',
    refuses: [
      'main',
      'config',
      'cli',
      'ui',
      'replay',
      'server',
      'gateway',
      'controllers',
      'accounts',
      'views',
      'reach',
      'ledger',
      'instance',
      'simulator',
      'markets',
    ],
    because: 'ownership says whose a machine is from plain values; who acts on it lies above.',
  },
  {
    layer: 'instance',
    refuses: LAYERS.filter((layer) => !['instance', 'ownership', 'market', 'api', 'lib'].includes(layer)),
    because:
      'instance says what a GpuInstance means, from the object alone: it imports api, ownership, lib and types of market, and takes the rest as values.',
  },
  {
    layer: 'views',
    refuses: LAYERS.filter(
      (layer) => !['views', 'reach', 'ledger', 'instance', 'api', 'runtime', 'lib'].includes(layer),
    ),
    because:
      'views shows objects to people and programs, from plain values: api, instance, ledger, reach, runtime and lib only.',
  },
  {
    layer: 'ui',
    refuses: LAYERS.filter(
      (layer) => !['ui', 'views', 'ledger', 'instance', 'api', 'runtime', 'lib'].includes(layer),
    ),
    because:
      'ui shows in a browser what views computes: views, ledger, instance, api, runtime and lib only. The command gives it a cluster.',
  },
  {
    layer: 'ledger',
    refuses: LAYERS.filter((layer) => !['ledger', 'instance', 'api', 'lib'].includes(layer)),
    because:
      'ledger says what machines cost, from plain values: api, instance and lib only. Its writer is in accounts.',
  },
  {
    layer: 'reach',
    refuses: LAYERS.filter((layer) => !['reach', 'instance', 'api', 'lib'].includes(layer)),
    because:
      'reach says how a process connects to a machine, from plain values: api, instance and lib only. Its callers connect.',
  },
  {
    layer: 'accounts',
    refuses: [
      'main',
      'config',
      'cli',
      'ui',
      'replay',
      'server',
      'gateway',
      'controllers',
      'views',
      'simulator',
      'markets',
    ],
    because:
      'accounts serves the controllers and never calls back into one; it knows markets by their port alone.',
  },
  {
    layer: 'server',
    refuses: [
      'main',
      'config',
      'cli',
      'ui',
      'replay',
      'gateway',
      'controllers',
      'accounts',
      'ownership',
      'markets',
      'market',
      'simulator',
    ],
    because: 'server shows what it is given: views, api, instance, ledger, runtime and lib only.',
  },
  {
    layer: 'gateway',
    refuses: LAYERS.filter(
      (layer) => !['gateway', 'reach', 'instance', 'api', 'runtime', 'lib'].includes(layer),
    ),
    because:
      'gateway serves requests in a process of its own: it meets the operator through the cluster and its reports, never through code.',
  },
];

/** The one file of each controller that `cli` imports. */
const PUBLIC_FILE = 'public.ts';
const CLI_BECAUSE = `cli imports of a controller its ${PUBLIC_FILE} only, so that the other files can move.`;

const refusal = (layers: readonly string[], because: string) => ({
  regex: `^(\\.\\./)+(${layers.join('|')})(/|\\.ts$)`,
  message: because,
});

interface Refused {
  readonly regex?: string;
  readonly group?: string[];
  readonly message: string;
  readonly allowTypeImports?: boolean;
}

const refusing = (patterns: Refused[]): ['error', { patterns: Refused[] }] => ['error', { patterns }];

const refusingDynamic = (refused: RefusedImport[]): ['error', ...RefusedImport[]] => ['error', ...refused];

/** A test may take rows of replies, or a market, from an adapter. */
const TESTS = '**/*.test.ts';
const inTests = (refuses: readonly Layer[], layer?: Layer) =>
  layer === 'lib' || layer === 'simulator' ? refuses : refuses.filter((each) => each !== 'markets');

const layerRules = ARROWS.flatMap(({ layer, refuses, because }) =>
  [
    { files: [`src/${layer}/**`], excludeFiles: [TESTS], patterns: [refusal(refuses, because)] },
    { files: [`src/${layer}/${TESTS}`], patterns: [refusal(inTests(refuses, layer), because)] },
  ].map(({ patterns, ...where }) => ({
    ...where,
    rules: {
      'no-restricted-imports': refusing(patterns),
      'dynamic-imports/refused': refusingDynamic(patterns),
    },
  })),
);

/** Markets, by folder of `src/markets`. */
const MARKETS = ['vast'] as const;

/** No adapter imports another one. */
const marketRules = MARKETS.map((name) => {
  const patterns = [
    refusal(
      LAYERS.filter((layer) => !['lib', 'market', 'markets'].includes(layer)),
      'A client of a market works without Kubernetes; it imports market and lib only.',
    ),
    {
      regex: `^(\\.\\./)+(markets/)?(${[...MARKETS, 'planted'].filter((other) => other !== name).join('|')})/`,
      message: 'Markets never import each other: what they share belongs to src/market.',
    },
  ];
  return {
    files: [`src/markets/${name}/**`],
    rules: {
      'no-restricted-imports': refusing(patterns),
      'dynamic-imports/refused': refusingDynamic(patterns),
    },
  };
});

const cliRules = [
  {
    files: ['src/cli/**'],
    rules: {
      'no-restricted-imports': refusing([
        { group: ['../**/controllers/**', `!../**/controllers/*/${PUBLIC_FILE}`], message: CLI_BECAUSE },
      ]),
      'dynamic-imports/refused': refusingDynamic([
        { regex: `/controllers/(?![^/]+/${PUBLIC_FILE}$)`, message: CLI_BECAUSE },
      ]),
    },
  },
];

const replayRules = [
  {
    files: ['src/replay/**'],
    rules: {
      'no-restricted-imports': refusing([
        refusal(
          LAYERS.filter((layer) => !['replay', 'controllers', 'views', 'api', 'lib'].includes(layer)),
          "replay plays a load through the operator's decisions, from plain values: controllers, views, api and lib only.",
        ),
        {
          group: ['../**/controllers/**', `!../**/controllers/*/${PUBLIC_FILE}`],
          message: CLI_BECAUSE.replace('cli', 'replay'),
        },
      ]),
      'oxc/no-async-await': 'error' as const,
    },
  },
];

const controllerPatterns = (name: string, isTest = false) => [
  refusal(
    CONTROLLERS.filter((other) => other !== name),
    'Controllers never import each other: they meet through the cluster.',
  ),
  refusal(
    [
      'main',
      'config',
      'cli',
      'ui',
      'replay',
      'server',
      'gateway',
      'simulator',
      ...(isTest ? [] : ['markets']),
    ],
    'A controller gets what it needs as arguments from main.ts: it knows markets by their port alone, and no simulator.',
  ),
  ...(name === 'endpoint-group'
    ? [
        {
          regex: '(^|/)(markets?|accounts)/',
          message:
            'An EndpointGroup creates, patches and deletes GpuInstances; it never calls the marketplace.',
        },
      ]
    : []),
];

/**
 * The files of each controller that wait, call, remember or read a clock, and why. Every other file is pure: it goes
 * from values to values, so that a thousand rows of its tests run in milliseconds. A new file is pure; one that
 * cannot be needs its row here; `test/lint` checks that each row names a file.
 */
const EFFECTS: Readonly<Record<Controller, Readonly<Record<string, string>>>> = {
  'gpu-instance': {
    'controller.ts': 'watches, and takes keys from the queue',
    'watches.ts': 'indexes what waits for a list, and enqueues it',
    'reconcile.ts': 'runs the steps of one reconcile in order, and applies their outcome',
    'explain.ts': 'observes and reads for a person, with a memory and caches of its own',
    'public.ts': 'shows the command line what it may import, `explain.ts` among it',
    'deps.ts': 'names the clock, the clients and the memory that the steps take',
    'observe.ts': 'reads the clock, the caches and the account',
    'reads.ts': 'reads what a rule requests, and decides again',
    'record.ts': 'writes the intent and the status',
    'act.ts': 'calls the marketplace',
    'memory.ts': 'remembers between two reconciles what may be lost',
    '{probe,dial-name,lease-renewal}.ts': 'connect to the machine',
    'lease-reports.ts': 'answers requests of machines',
    'self-end-check.ts': 'lists the files of the machine',
    'run-collection.ts': 'reads log and files of the machine, and writes the Secret of the log',
    '{publish,child-writes}.ts': 'write and delete Secret, Service and slices',
    'rental-inputs.ts': 'reads the Secrets and ConfigMaps of a rental',
    'sent-start.ts': 'packs a start script by the limits of the market',
    'template-outlook.ts': 'observes and reads for a worker as a new template would have it',
    'preflight-reads.ts': 'asks the cluster what a rental needs of it',
  },
  'endpoint-group': {
    'controller.ts': 'watches, and takes keys from the queue',
    'reconcile.ts': 'runs the steps of one reconcile in order, and applies their outcome',
    'deps.ts': 'names the clock, the clients and the memory that the steps take',
    'observe.ts': 'reads the clock, the caches and the load',
    'record.ts': 'writes finalizer and status',
    'memory.ts': 'remembers of each group what may be lost',
    'act.ts': 'creates, patches and deletes workers',
    'load/{sources,prometheus,get,push,gateway-intake}.ts': 'ask for load, or receive it',
    'publish/{publisher,service,slices}.ts': 'write Service and slices',
    'publish/endpoint-file-writer.ts': 'writes the ConfigMap of ready workers',
    'identity/identities.ts': 'writes the Secrets of gateways, and issues certificates',
  },
  'spend-budget': {
    'controller.ts': 'watches, and takes keys from the queue',
  },
  'marketplace-account': {
    'controller.ts': 'watches, and takes keys from the queue',
    'observe.ts': 'reads the clock, the key, the account and the objects that still name it',
    'key-checks.ts': 'reads the Secret and checks its key with the marketplace',
    'act.ts': 'reads the login, and changes what sessions know',
  },
  'orphan-sweep': {
    'controller.ts': 'sweeps at intervals',
    'observe.ts': 'reads lists, objects and the clock',
    'sweep-memory.ts': 'remembers first sights between two sweeps',
    'act.ts': 'destroys orphans',
    'child-sweep.ts': 'lists slices, and deletes what an object left that is gone',
  },
};

/** Code of lower layers that goes from values to values itself. */
const PURE_HELPERS = [
  '!../**/runtime/conditions.ts',
  '!../**/runtime/kube/kube-object.ts',
  '!../**/market/ids.ts',
];

/** Files with effects as the files of a folder of the controller import them. */
const effectsSeenFrom = (controller: Controller, folder: string) =>
  Object.keys(EFFECTS[controller]).map((file) => {
    if (folder === '') return `./${file}`;
    return file.startsWith(`${folder}/`) ? `.${file.slice(folder.length)}` : `../${file}`;
  });

/** The folders of a controller that hold files with effects, and all others as `*`. */
const foldersOf = (controller: Controller) => {
  const folders = Object.keys(EFFECTS[controller]).filter((file) => file.includes('/'));
  return ['', '*', ...new Set(folders.map((file) => file.slice(0, file.indexOf('/'))))];
};

/** What the pure files of one folder of a controller import as types only, or not at all. */
const pureImports = (controller: Controller, folder: string) => [
  {
    group: ['../**/runtime/**', '../**/market/**', '../**/markets/**', ...PURE_HELPERS],
    message: 'A pure file takes values: import types from market, markets and runtime, never code.',
    allowTypeImports: true,
  },
  {
    group: ['../**/market/machine.ts'],
    message:
      'A row of a reply is no fact: rules take the believed Machine of accounts/beliefs, which no single reply changes.',
  },
  {
    group: effectsSeenFrom(controller, folder),
    message:
      'A pure file takes values: code of a file that has effects is called by the steps, never by a rule.',
    allowTypeImports: true,
  },
  {
    group: ['../**/lib/{clock,random,env,transport,logger}.ts'],
    message: 'A pure file takes values: the time as a number, and no chance, network or log.',
  },
];

const controllerRules = CONTROLLERS.flatMap((name) => [
  {
    files: [`src/controllers/${name}/**`],
    rules: { 'no-restricted-imports': refusing(controllerPatterns(name)) },
  },
  {
    files: [`src/controllers/${name}/${TESTS}`],
    rules: { 'no-restricted-imports': refusing(controllerPatterns(name, true)) },
  },
  ...foldersOf(name).map((folder) => ({
    files: [`src/controllers/${name}/${folder === '' ? '*.ts' : `${folder}/**`}`],
    excludeFiles: [
      '**/*.test.ts',
      ...Object.keys(EFFECTS[name]).map((file) => `src/controllers/${name}/${file}`),
    ],
    rules: {
      'no-restricted-imports': refusing([...controllerPatterns(name), ...pureImports(name, folder)]),
      'oxc/no-async-await': 'error' as const,
    },
  })),
]);

/** The refused words; see `scripts/lint/vocabulary.ts`. */
const vocabularyRule = { files: ['src/**', 'test/**'], rules: { 'vocabulary/words': 'error' as const } };

/** Refuses the operator's wall clock as the time of a cost; see `scripts/lint/money-clock.ts`. */
const moneyClockRule = {
  files: ['src/controllers/**'],
  excludeFiles: [TESTS],
  rules: { 'money-clock/wall': 'error' as const },
};

const noGlobals = (names: readonly string[], message: string) => names.map((name) => ({ name, message }));

export default defineConfig({
  plugins: ['typescript', 'import', 'oxc', 'unicorn', 'promise'],
  jsPlugins: [
    './scripts/lint/vocabulary.ts',
    './scripts/lint/dynamic-imports.ts',
    './scripts/lint/money-clock.ts',
  ],
  categories: { correctness: 'error' },
  ignorePatterns: ['node_modules', 'dist', 'coverage', '**/golden/**', 'proto/gen', 'oxlint.config.ts'],
  rules: {
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'typescript/no-explicit-any': 'error',
    'typescript/no-non-null-assertion': 'error',
    // Work that nothing awaits starts by inBackground (src/lib/background.ts), which takes an error handler.
    'typescript/no-floating-promises': ['error', { ignoreVoid: false }],
    'typescript/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
    'no-void': ['error', { allowAsStatement: false }],
    'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    'typescript/ban-ts-comment': [
      'error',
      { 'ts-expect-error': 'allow-with-description', minimumDescriptionLength: 10 },
    ],
    'no-unused-vars': [
      'error',
      { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
    ],
    'unicorn/no-useless-spread': 'off',
    'unicorn/no-new-array': 'off',
    'typescript/no-misused-spread': 'off',
    'typescript/restrict-template-expressions': 'off',
    'typescript/no-base-to-string': 'off',
    'typescript/unbound-method': 'off',
    'typescript/require-array-sort-compare': 'off',
    'typescript/no-redundant-type-constituents': 'off',
    complexity: ['warn', { max: 20 }],
    'max-depth': ['warn', { max: 3 }],
  },
  overrides: [
    ...layerRules,
    ...marketRules,
    ...cliRules,
    ...replayRules,
    ...controllerRules,
    vocabularyRule,
    moneyClockRule,
    {
      files: [
        'src/{api,market,markets,runtime,ownership,instance,ledger,reach,views,accounts,controllers,replay,gateway,simulator}/**/*.ts',
        'src/config.ts',
        'src/config/*.ts',
      ],
      excludeFiles: [
        '**/*.test.ts',
        'src/runtime/kube/undici-transport.ts',
        'src/runtime/kube/kube-config.ts',
        'src/gateway/envoy-process.ts',
        'src/markets/vast/http/transport.ts',
        'src/simulator/http-server.ts',
        'src/simulator/calls/incoming-request.ts',
        'src/simulator/machines/machine-process.ts',
      ],
      rules: {
        'no-restricted-globals': [
          'error',
          ...noGlobals(
            ['setTimeout', 'setInterval', 'setImmediate', 'performance'],
            'Time comes in as Env.clock, or simulation cannot drive it.',
          ),
          ...noGlobals(['fetch'], 'The network comes in as a Transport of Env.'),
          ...noGlobals(['process'], 'main.ts alone reads the process; take configuration as an argument.'),
        ],
        'no-restricted-properties': [
          'error',
          { object: 'Date', property: 'now', message: 'Time comes in as Env.clock.' },
          {
            object: 'AbortSignal',
            property: 'timeout',
            message:
              'Time comes in as Env.clock: use withDeadline. Node keeps such a signal until its time is over.',
          },
          {
            object: 'AbortSignal',
            property: 'any',
            message: 'Use firstAbort: Node keeps a joined signal with listeners until a source is aborted.',
          },
          { object: 'Math', property: 'random', message: 'Chance comes in as Env.random.' },
          { object: 'crypto', property: 'randomUUID', message: 'Chance comes in as Env.random.' },
        ],
      },
    },
    {
      files: [
        'src/ownership/{label,intent,claim,ours}.ts',
        'src/instance/**/*.ts',
        'src/ledger/**/*.ts',
        'src/reach/**/*.ts',
        'src/views/**/*.ts',
        'src/accounts/{avoid-list,breaker,slow-replacement,spend-limits}.ts',
        'src/simulator/{world/world,steps/advance}.ts',
        'src/simulator/tfa/*.ts',
      ],
      excludeFiles: ['**/*.test.ts'],
      rules: { 'oxc/no-async-await': 'error' },
    },
    {
      files: ['**/*.test.ts', 'test/**', 'bench/**', 'scripts/**'],
      rules: {
        'typescript/no-floating-promises': 'error',
        'typescript/no-misused-promises': 'off',
        'no-void': 'off',
        complexity: 'off',
        'max-depth': 'off',
        'typescript/switch-exhaustiveness-check': 'off',
      },
    },
  ],
});
