import type { FuzzTarget } from './target.ts';
import { FILE_TARGETS } from './targets/files.ts';
import { KUBE_TARGETS } from './targets/kube.ts';
import { LOAD_TARGETS } from './targets/load.ts';
import { OBJECT_TARGETS } from './targets/objects.ts';
import { REPLY_TARGETS } from './targets/replies.ts';
import { SECRET_TARGETS } from './targets/secrets.ts';
import { SIMULATOR_TARGETS } from './targets/simulator.ts';
import { WIRE_TARGETS } from './targets/wire.ts';

/** Every parser of what others write: the marketplace, the API server, users, workers, Prometheus, callers. */
export const TARGETS: readonly FuzzTarget[] = [
  ...WIRE_TARGETS,
  ...REPLY_TARGETS,
  ...OBJECT_TARGETS,
  ...SECRET_TARGETS,
  ...LOAD_TARGETS,
  ...KUBE_TARGETS,
  ...FILE_TARGETS,
  ...SIMULATOR_TARGETS,
];
