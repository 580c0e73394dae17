import { type Document, isMap, isNode, isSeq, LineCounter, parseAllDocuments } from 'yaml';
import { KUBECTL_YAML } from '../../lib/kubectl-yaml.ts';
import { usageError } from '../command-error.ts';

/** Path of a value: keys and indexes from the top of a document. */
export type YamlPath = readonly PropertyKey[];

/** A YAML document with positions of mistakes. */
export interface YamlSource {
  readonly file: string;
  readonly value: unknown;
  /** Returns the line, from 1, of a field; for a missing field that of the nearest one around it. */
  lineOf(path: YamlPath): number;
}

/**
 * Returns the documents of a YAML text that are not empty. Throws a usage error that names the line of invalid YAML.
 */
export function yamlSources(text: string, file: string): readonly YamlSource[] {
  const lineCounter = new LineCounter();
  const documents = [...parseAllDocuments(text, { ...KUBECTL_YAML, lineCounter })];
  const lineAt = (offset: number) => lineCounter.linePos(offset).line;
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error) {
    const [message] = error.message.split('\n');
    throw usageError(`${file}:${lineAt(error.pos[0])}: ${message}`, 'Correct the YAML on that line.');
  }
  return documents
    .filter(({ contents }) => contents !== null)
    .map((document) => ({
      file,
      value: plainValue(document, file),
      lineOf: (path) => lineAt(offsetOf(document.contents, path)),
    }));
}

/** Resolves aliases. The parser reports endless aliases only here. */
function plainValue(document: Pick<Document, 'toJS'>, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw usageError(`${file}: ${message}.`, 'Write the values out in place of aliases.');
  }
}

/** Returns the offset of the field at a path; a field of a map begins with its name. */
function offsetOf(contents: unknown, path: YamlPath): number {
  let found: Place = { offset: beginningOf(contents), node: contents };
  for (const key of path) {
    const child = childOf(found.node, key);
    if (!child) break;
    found = child;
  }
  return found.offset;
}

interface Place {
  readonly offset: number;
  readonly node: unknown;
}

function childOf(node: unknown, key: PropertyKey): Place | undefined {
  if (isMap(node)) {
    const pair = node.items.find((item) => String(item.key) === String(key));
    return pair && { offset: beginningOf(pair.key), node: pair.value };
  }
  const item = isSeq(node) ? node.items[Number(key)] : undefined;
  return item === undefined ? undefined : { offset: beginningOf(item), node: item };
}

function beginningOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}

/** An invalid field. */
export interface Fault {
  readonly path: YamlPath;
  readonly message: string;
}

/** Returns a usage error with the line of each fault. */
export function faultError(source: YamlSource, faults: readonly Fault[], remedy: string): Error {
  const lines = faults.slice(0, 5).map(({ path, message }) => {
    const field = path.length === 0 ? '' : `${fieldName(path)}: `;
    return `${source.file}:${source.lineOf(path)}: ${field}${message}`;
  });
  return usageError(lines.join('\n'), remedy);
}

/** Returns a path as text: `spec.offers[0].maxPricePerHour`. */
function fieldName(path: YamlPath): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');
}
