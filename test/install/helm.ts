import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { type GoTool, goTool, HELM } from '../tools/go-tool.ts';

export const CHART = join(REPOSITORY, 'charts/gpu-rental-operator');

/** Common fields of every object. */
export const manifestShape = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});

/** An object that the chart renders. */
export type Manifest = z.output<typeof manifestShape>;

/** Helm at its pinned version; it never sees the user's own configuration or cluster. */
export interface Helm {
  /** Rejects with what Helm said. */
  run(args: readonly string[], kubeconfigPath?: string): Promise<string>;
  /** Renders the chart as release `release` of namespace `operators`, unless the arguments name another. */
  template(args: readonly string[]): Promise<readonly Manifest[]>;
}

/** Builds Helm where this user's cache has none. `home` is a folder for its files. */
export async function openHelm(home: string, tool: GoTool = HELM): Promise<Helm> {
  const path = await goTool(tool);
  const run = async (args: readonly string[], kubeconfigPath = join(home, 'none')): Promise<string> => {
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      HELM_CACHE_HOME: join(home, 'cache'),
      HELM_CONFIG_HOME: join(home, 'config'),
      HELM_DATA_HOME: join(home, 'data'),
      KUBECONFIG: kubeconfigPath,
    };
    const { stdout } = await promisify(execFile)(path, [...args], { env, maxBuffer: 2 ** 26 });
    return stdout;
  };
  const template = async (args: readonly string[]): Promise<readonly Manifest[]> => {
    const text = await run(['template', 'release', CHART, '--namespace', 'operators', ...args]);
    return parseAllDocuments(text)
      .map((document) => document.toJS() as unknown)
      .filter((object) => object !== null)
      .map((object) => manifestShape.parse(object));
  };
  return { run, template };
}
