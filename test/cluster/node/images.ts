import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { imageArchive } from '../../../scripts/image/oci.ts';
import { buildOnce } from '../go-build.ts';
import { NODE_IMAGES } from '../go-modules.ts';
import { DNS_IMAGE, PAUSE_IMAGE, WORKLOAD_IMAGE } from './settings.ts';

const IMAGES = [
  { program: 'pause', reference: PAUSE_IMAGE },
  { program: 'coredns', reference: DNS_IMAGE },
  { program: 'workload', reference: WORKLOAD_IMAGE },
] as const;

const ARCHITECTURE = process.arch === 'arm64' ? 'arm64' : 'amd64';

export type NodeImage = (typeof IMAGES)[number]['program'];

/** Returns the image archives; builds those that the user's cache lacks. */
export async function nodeImages(
  env: NodeJS.ProcessEnv,
  report: (line: string) => void,
): Promise<Readonly<Record<NodeImage, string>>> {
  const folder = await buildOnce(env, report, { module: NODE_IMAGES, finish: archiveImages });
  const path = (program: NodeImage): string => join(folder, `${program}.tar`);
  return { pause: path('pause'), coredns: path('coredns'), workload: path('workload') };
}

/** Makes an image of each program in that folder, with nothing else in it. */
async function archiveImages(folder: string): Promise<void> {
  for (const { program, reference } of IMAGES) {
    const content = readFileSync(join(folder, program));
    const { archive } = await imageArchive(
      [
        {
          architecture: ARCHITECTURE,
          layers: [[{ path: program, mode: 0o755, content }]],
          config: { Entrypoint: [`/${program}`], User: '65532:65532' },
        },
      ],
      { reference, createdAt: 0, main: ARCHITECTURE },
    );
    writeFileSync(join(folder, `${program}.tar`), archive);
  }
}
