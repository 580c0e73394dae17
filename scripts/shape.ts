/**
 * `npm run shape [-- FOLDER]`: the figures of the source's shape, with the largest outliers of each. Indicators for a
 * review, never goals: no check reads them but the sub-folder circles, which stay 0. FOLDER is another checkout.
 */
import {
  brokenTransfers,
  cyclesOf,
  folderDependencies,
  leafTransfers,
  mutualPairs,
  type NamedFunction,
  namesOnWalk,
  quantile,
  readSources,
} from './shape/measure.ts';
import { RENTAL_PATH } from './shape/rental-path.ts';

/** Transfers before facts were grouped by noun. */
const EARLIER_TRANSFERS = 21;
/** Controllers whose facts are grouped by noun, with the figures of the same measures before. */
const BY_NOUN = [
  { controller: 'gpu-instance', wholeTakers: 317, names: 165 },
  { controller: 'endpoint-group', wholeTakers: 33, names: 123 },
] as const;

const OUTLIERS = 5;

const [root = `${import.meta.dirname}/..`] = process.argv.slice(2);
const files = readSources(root);
const functions = files.flatMap((file) => file.functions);
const privates = functions.filter(({ isPrivate }) => isPrivate);
const single = privates.filter(({ hasSingleCaller }) => hasSingleCaller);
const dependencies = folderDependencies(files);
const cycles = cyclesOf(dependencies);
const pairs = mutualPairs(files);
const broken = brokenTransfers(files, RENTAL_PATH);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function print(name: string, value: string, outliers: readonly string[] = []): void {
  process.stdout.write(`${name.padEnd(44)} ${value}\n`);
  for (const outlier of outliers) process.stdout.write(`    ${outlier}\n`);
}

function longest(of: readonly NamedFunction[]): readonly string[] {
  const sorted = of.toSorted((left, right) => right.lines - left.lines);
  return sorted
    .slice(0, OUTLIERS)
    .map(({ file, line, name, lines }) => `${lines} src/${file}:${line} ${name}`);
}

/** Returns the folders whose files are the smallest. */
function smallFiles(): readonly string[] {
  const counts = new Map<string, number>();
  for (const { path, lines } of files) {
    const folder = path.split('/').slice(0, -1).join('/');
    if (lines <= 50) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const sorted = [...counts].toSorted(([, left], [, right]) => right - left);
  return sorted
    .slice(0, OUTLIERS)
    .map(([folder, count]) => `${count} files of at most 50 lines in src/${folder}`);
}

const lengths = files.map(({ lines }) => lines);
const largest = files.toSorted((left, right) => right.lines - left.lines).slice(0, OUTLIERS);
const sizes = functions.map(({ lines }) => lines);
const singleByFile = Object.entries(Object.groupBy(single, ({ file }) => file))
  .map(([file, of = []]) => ({ file, count: of.length }))
  .toSorted((left, right) => right.count - left.count)
  .slice(0, OUTLIERS);

print('source files (tests excluded)', `${files.length}`, smallFiles());
print('source lines', `${sum(lengths)}`);
print(
  'lines of a file, median and p90',
  `${quantile(lengths, 0.5)} and ${quantile(lengths, 0.9)}`,
  largest.map(({ path, lines }) => `${lines} src/${path}`),
);
print(
  'lines of a named function, median and p90',
  `${quantile(sizes, 0.5)} and ${quantile(sizes, 0.9)} (${functions.length} functions)`,
  longest(functions),
);
print(
  'private functions with a single caller',
  `${Math.round((100 * single.length) / privates.length)} % (${single.length} of ${privates.length})`,
  singleByFile.map(({ file, count }) => `${count} in src/${file}`),
);
print(
  'transfers from the worker to the status write',
  broken.length === 0
    ? `${RENTAL_PATH.length} (${leafTransfers(RENTAL_PATH)} of them to a leaf; earlier ${EARLIER_TRANSFERS})`
    : `unknown: ${broken.length} of ${RENTAL_PATH.length} declared rows no longer hold`,
  broken.map((row) => `correct in scripts/shape/rental-path.ts: ${row}`),
);
for (const { controller, ...earlier } of BY_NOUN) {
  const own = files.filter(({ path }) => path.startsWith(`controllers/${controller}/`));
  const wholeTakers = own.flatMap((file) => file.wholeTakers);
  const takersByFile = Object.entries(Object.groupBy(wholeTakers, (taker) => taker.split(':')[0] ?? ''))
    .toSorted(([, left = []], [, right = []]) => right.length - left.length)
    .slice(0, OUTLIERS);
  print(
    `${controller}: take all of Facts or Observed`,
    `${wholeTakers.length} (earlier ${earlier.wholeTakers})`,
    takersByFile.map(([file, takers = []]) => `${takers.length} in ${file}`),
  );
  print(
    `${controller}: names on the walk of Observed`,
    `${namesOnWalk(own, 'Observed').length} (earlier ${earlier.names})`,
  );
}
print(
  'folder dependencies, cycles among them',
  `${sum([...dependencies.values()].map(({ size }) => size))}, ${cycles.length}`,
  cycles.map((cycle) => cycle.join(', ')),
);
print(
  'sub-folder circles',
  `${pairs.length}`,
  pairs.map(({ folders, imports }) => `src/${folders.join(' and src/')}: ${imports.join(', ')}`),
);
