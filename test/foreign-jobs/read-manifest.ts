import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { downloadModule } from '../tools/go-tool.ts';
import type { ForeignManifest } from './manifests.ts';

/** An object as its author wrote it. */
export interface ForeignObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Kinds whose objects run Pods. */
const KINDS: ReadonlySet<string> = new Set(['Pod', 'Job', 'JobSet', 'Workflow', 'TaskRun']);

/** Returns the YAML blocks of a page; a YAML file is one block. */
function blocksIn(file: string, text: string): readonly string[] {
  if (!file.endsWith('.md')) return [text];
  return [...text.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, block = '']) => block);
}

/** Reads the object of a manifest from go's module cache. Rejects if the module cannot be fetched. */
export async function readManifest(
  { module, file, position = 0 }: ForeignManifest,
  env: NodeJS.ProcessEnv = process.env,
): Promise<ForeignObject> {
  const folder = await downloadModule(module, { ...env, GOWORK: 'off', GOFLAGS: '' });
  const text = await readFile(join(folder, file), 'utf8');
  const objects = blocksIn(file, text)
    .flatMap((block) => parseAllDocuments(block, { uniqueKeys: false }))
    .map((document) => document.toJS() as ForeignObject | null)
    .filter((object) => object !== null && KINDS.has(object.kind));
  const found = objects[position];
  if (!found) throw new Error(`${file} of ${module.module} has no object ${position} that runs Pods`);
  return embedded(found) ?? found;
}

/** Returns the object that a resource template of a Workflow creates; undefined for any other object. */
function embedded({ kind, spec }: ForeignObject): ForeignObject | undefined {
  const { templates = [] } = spec as { templates?: readonly { resource?: { manifest?: string } }[] };
  const manifest = templates.find(({ resource }) => resource?.manifest !== undefined)?.resource?.manifest;
  return kind === 'Workflow' && manifest !== undefined ? (parse(manifest) as ForeignObject) : undefined;
}
