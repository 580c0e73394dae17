import { defineConfig } from 'oxlint';

/** Layers from the top down. A layer imports what stands below it, minus its `refuses`. */
const LAYERS = [
  'main',
  'config',
  'cli',
  'server',
  'controllers',
  'accounts',
  'ownership',
  'runtime',
  'simulator',
  'marketplace',
  'api',
  'lib',
] as const;
type Layer = (typeof LAYERS)[number];

const CONTROLLERS = ['gpu-instance', 'endpoint-group', 'marketplace-account', 'orphan-sweep'] as const;

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
    layer: 'marketplace',
    refuses: LAYERS.filter((layer) => layer !== 'lib' && layer !== 'marketplace'),
    because: 'marketplace is a client that works without Kubernetes; it imports lib only.',
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
    refuses: ['main', 'config', 'cli', 'server', 'controllers', 'accounts', 'simulator'],
    because: 'ownership says whose a machine is from plain values; who acts on it lies above.',
  },
  {
    layer: 'accounts',
    refuses: ['main', 'config', 'cli', 'server', 'controllers', 'simulator'],
    because: 'accounts serves the controllers and never calls back into one.',
  },
  {
    layer: 'server',
    refuses: ['main', 'config', 'cli', 'controllers', 'accounts', 'ownership', 'marketplace', 'simulator'],
    because: 'server shows what it is given: api, runtime and lib only.',
  },
];

const refusal = (layers: readonly string[], because: string) => ({
  regex: `^(\\.\\./)+(${layers.join('|')})(/|\\.ts$)`,
  message: because,
});

const layerRules = ARROWS.map(({ layer, refuses, because }) => ({
  files: [`src/${layer}/**`],
  rules: {
    'no-restricted-imports': ['error', { patterns: [refusal(refuses, because)] }] as const,
  },
}));

const controllerPatterns = (name: string) => [
  refusal(
    CONTROLLERS.filter((other) => other !== name),
    'Controllers never import each other: they meet through the cluster.',
  ),
  refusal(
    ['main', 'config', 'cli', 'server', 'simulator'],
    'A controller gets what it needs as arguments from main.ts, and never knows that a simulator exists.',
  ),
  ...(name === 'endpoint-group'
    ? [
        {
          regex: '(^|/)(marketplace|accounts)/',
          message:
            'An EndpointGroup creates, patches and deletes GpuInstances; it never calls the marketplace.',
        },
      ]
    : []),
];

/** Files that decide: from values to values, so that a thousand rows of them run in milliseconds. */
const PURE_NAMES =
  '{stage,decide,choose-offer,conditions,failure,cost,autoscale,choose-workers,surplus,limits,settle}.ts';

/** Below the folder of a controller. */
const PURE_FILES = [PURE_NAMES, '{rules,scaling,offers}/*.ts', 'rental/rent-request.ts'];

const pureImports = {
  regex: '^(\\.\\./)+(marketplace|runtime)/',
  message: 'A pure file takes values: import types from marketplace and runtime, never code.',
  allowTypeImports: true,
};

const controllerRules = CONTROLLERS.flatMap((name) => [
  {
    files: [`src/controllers/${name}/**`],
    rules: { 'no-restricted-imports': ['error', { patterns: controllerPatterns(name) }] as const },
  },
  {
    files: PURE_FILES.map((file) => `src/controllers/${name}/${file}`),
    excludeFiles: ['**/*.test.ts'],
    rules: {
      'no-restricted-imports': ['error', { patterns: [...controllerPatterns(name), pureImports] }] as const,
    },
  },
]);

const noGlobals = (names: readonly string[], message: string) => names.map((name) => ({ name, message }));

export default defineConfig({
  plugins: ['typescript', 'import', 'oxc', 'unicorn', 'promise'],
  categories: { correctness: 'error' },
  ignorePatterns: ['node_modules', 'dist', 'coverage', '**/golden/**', 'oxlint.config.ts'],
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
    ...controllerRules,
    {
      files: [
        'src/{api,marketplace,runtime,ownership,accounts,controllers,simulator}/**/*.ts',
        'src/config.ts',
        'src/config/*.ts',
      ],
      excludeFiles: [
        '**/*.test.ts',
        'src/runtime/kube/undici-transport.ts',
        'src/runtime/kube/kube-config.ts',
        'src/marketplace/http/transport.ts',
        'src/simulator/http-server.ts',
        'src/simulator/calls/incoming-request.ts',
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
          { object: 'Math', property: 'random', message: 'Chance comes in as Env.random.' },
          { object: 'crypto', property: 'randomUUID', message: 'Chance comes in as Env.random.' },
        ],
      },
    },
    {
      files: [
        ...PURE_FILES.map((file) => `src/controllers/*/${file}`),
        'src/ownership/{label,intent,claim,ours}.ts',
        'src/accounts/{avoid-list,watch/breaker,tickets/spend-brake}.ts',
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
