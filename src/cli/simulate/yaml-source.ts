import { usageError } from '../command-error.ts';

/** Where a value stands: keys and indexes from the top of a document. */
export type YamlPath = readonly PropertyKey[];

/** One YAML document whose mistakes can be pointed at. */
export interface YamlSource {
  readonly file: string;
  readonly value: unknown;
  /** The line, from 1, on which a field stands; that of the nearest field around it where it does not stand at all. */
  lineOf(path: YamlPath): number;
}

/** The documents of a YAML text that are not empty. What is no YAML is a usage error that names the line. */
export async function yamlSources(text: string, file: string): Promise<readonly YamlSource[]> {
  const { isMap, isSeq, LineCounter, parseAllDocuments } = await import('yaml');
  const lineCounter = new LineCounter();
  const documents = [...parseAllDocuments(text, { lineCounter })];
  const lineAt = (offset: number) => lineCounter.linePos(offset).line;
  for (const { errors } of documents) {
    const [error] = errors;
    if (error)
      throw usageError(
        `${file}:${lineAt(error.pos[0])}: ${error.message.split('\n')[0]}`,
        'Correct the YAML on that line.',
      );
  }
  const childOf = (
    node: unknown,
    key: PropertyKey,
  ): { readonly at: number; readonly node: unknown } | undefined => {
    if (isMap(node)) {
      const pair = node.items.find((item) => String(item.key) === String(key));
      return pair && { at: startOf(pair.key) ?? 0, node: pair.value };
    }
    const item = isSeq(node) ? node.items[Number(key)] : undefined;
    return item === undefined ? undefined : { at: startOf(item) ?? 0, node: item };
  };
  return documents
    .filter(({ contents }) => contents !== null)
    .map((document) => ({
      file,
      value: document.toJS() as unknown,
      lineOf(path) {
        let found = { at: startOf(document.contents) ?? 0, node: document.contents as unknown };
        for (const key of path) {
          const child = childOf(found.node, key);
          if (!child) break;
          found = child;
        }
        return lineAt(found.at);
      },
    }));
}

function startOf(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node)) return undefined;
  const { range } = node;
  return Array.isArray(range) && typeof range[0] === 'number' ? range[0] : undefined;
}

/** A field that is wrong. */
export interface Fault {
  readonly path: YamlPath;
  readonly message: string;
}

/** A usage error that says of each fault on which line it stands. */
export function faultError(source: YamlSource, faults: readonly Fault[], remedy: string): Error {
  const lines = faults.slice(0, 5).map(({ path, message }) => {
    const field = path.length === 0 ? '' : `${fieldName(path)}: `;
    return `${source.file}:${source.lineOf(path)}: ${field}${message}`;
  });
  return usageError(lines.join('\n'), remedy);
}

/** `spec.offers[0].maxPricePerHour`. */
function fieldName(path: YamlPath): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');
}

/** Fields that were written and that parsing did not take: they would be ignored. */
export function unknownFields(written: unknown, parsed: unknown, at: YamlPath): readonly Fault[] {
  if (Array.isArray(written) && Array.isArray(parsed))
    return written.flatMap((item, index) => unknownFields(item, parsed[index], [...at, index]));
  if (!isPlain(written) || !isPlain(parsed)) return [];
  return Object.entries(written).flatMap(([key, value]) =>
    Object.hasOwn(parsed, key)
      ? unknownFields(value, parsed[key], [...at, key])
      : [{ path: [...at, key], message: 'there is no such field' }],
  );
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
