import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { downloadModule } from './go-tool.ts';

/** CustomResourceDefinitions of a neighbour, as its Go module has them. */
export interface ForeignDefinitions {
  readonly module: string;
  readonly version: string;
  /** Paths in the module. */
  readonly files: readonly string[];
}

/** CRDs that manifests in `deploy/gateway` and `deploy/autoscaling` are written for. */
export const FOREIGN_DEFINITIONS: readonly ForeignDefinitions[] = [
  {
    module: 'sigs.k8s.io/gateway-api',
    version: 'v1.6.3',
    files: ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  },
  {
    module: 'sigs.k8s.io/gateway-api-inference-extension',
    version: 'v1.5.0',
    files: ['config/crd/bases/inference.networking.k8s.io_inferencepools.yaml'],
  },
  {
    module: 'github.com/kedacore/http-add-on',
    version: 'v0.15.0',
    files: [
      'config/crd/bases/http.keda.sh_interceptorroutes.yaml',
      'config/crd/bases/http.keda.sh_httpscaledobjects.yaml',
    ],
  },
  {
    module: 'github.com/kedacore/keda/v2',
    version: 'v2.20.1',
    files: ['config/crd/bases/keda.sh_scaledobjects.yaml'],
  },
];

/**
 * Returns the texts of the CRDs. Modules are downloaded once, to go's own cache. Rejects with advice if go is missing
 * or a module is unavailable.
 */
export async function readDefinitions(env: NodeJS.ProcessEnv = process.env): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const { module, version, files } of FOREIGN_DEFINITIONS) {
    const folder = await downloadModule({ module, version }, { ...env, GOWORK: 'off', GOFLAGS: '' });
    for (const file of files) texts.push(await readFile(join(folder, file), 'utf8'));
  }
  return texts;
}
