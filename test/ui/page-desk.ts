import { randomBytes } from 'node:crypto';
import type { FeedChange, FeedObject, FeedStatus, ObjectDetail } from '../../src/ui/protocol.ts';
import type { FeedListener } from '../../src/ui/server/object-feed.ts';
import { PageAccess } from '../../src/ui/server/page-access.ts';
import { pageFiles } from '../../src/ui/server/page-files.ts';
import { servePage } from '../../src/ui/server/page-server.ts';
import { FLEET_KINDS } from '../../src/views/fleet.ts';

/** A page over objects in memory. */
export interface PageDesk {
  readonly port: number;
  readonly token: string;
  /** URL with the token. */
  readonly url: string;
  /** Changes the objects, and sends that to all open pages. */
  change(change: Partial<FeedChange>): void;
  /** Sends a status with these changes. */
  status(change: Partial<FeedStatus>): void;
  close(): Promise<void>;
}

/** Details by row id, or the error that reading one throws. */
type Details = (id: string) => ObjectDetail | undefined;

function idOf({ kind, metadata: { namespace = '', name } }: FeedObject): string {
  const [short] = Object.entries(FLEET_KINDS).find(([, resource]) => resource.kind === kind) ?? [];
  return `${short}/${namespace}/${name}`;
}

/** Serves the page with these objects. */
export async function openDesk(
  objects: readonly FeedObject[],
  options: { readonly now?: number; readonly detail?: Details; readonly status?: Partial<FeedStatus> } = {},
): Promise<PageDesk> {
  const { now = Date.now(), detail = () => ({ yaml: 'kind: GpuInstance\n', events: [] }) } = options;
  const ready = { state: 'ready' } as const;
  let status: FeedStatus = {
    ...{ now, cluster: 'https://127.0.0.1:6443', connection: { state: 'live' } },
    kinds: { gpui: ready, epg: ready, gpuacct: ready },
    ...options.status,
  };
  const kept = new Map(objects.map((object) => [idOf(object), object]));
  const listeners = new Set<FeedListener>();
  const access = new PageAccess(randomBytes);
  const server = await servePage({
    files: await pageFiles(),
    access,
    feed: {
      subscribe(listener) {
        listener.status(status);
        listener.change({ reset: true, objects: [...kept.values()], removed: [] });
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    detail: async ({ kind, namespace, name }) => detail(`${kind}/${namespace}/${name}`),
    describe: (error) => (error instanceof Error ? error.message : String(error)),
    port: 0,
  });
  const token = access.token.reveal();
  return {
    ...{ port: server.port, token, url: `http://127.0.0.1:${server.port}/#${token}` },
    change: (change) => {
      for (const id of change.removed ?? []) kept.delete(id);
      for (const object of change.objects ?? []) kept.set(idOf(object), object);
      for (const listener of listeners) listener.change({ objects: [], removed: [], ...change });
    },
    status: (change) => {
      status = { ...status, ...change };
      for (const listener of listeners) listener.status(status);
    },
    close: () => server.close(),
  };
}
