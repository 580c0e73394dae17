import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import * as z from 'zod';
import type { AdminClient } from '../../cluster/admin-client.ts';

/** The files of a commit: text by path. */
export type Files = Readonly<Record<string, string>>;

/**
 * Replacement for Flux's source-controller, whose module cannot be built: its dependency pkg/artifact is not
 * published.
 */
export interface ArtifactServer {
  /**
   * Publishes files as source-controller does after a push: packs and serves them, and writes them as the newest
   * artifact into the status of that GitRepository in `flux-system`. Resolves with the revision.
   */
  publish(repository: string, files: Files): Promise<string>;
  close(): Promise<void>;
}

const generation = z.object({ metadata: z.object({ generation: z.number() }) });

/** Returns an archive; the same files give the same bytes. */
async function archiveOf(files: Files): Promise<Buffer> {
  const archive = pack();
  for (const [name, text] of Object.entries(files).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    archive.entry({ name, mode: 0o644, mtime: new Date(0) }, text);
  }
  archive.finalize();
  return gzipSync(await buffer(archive));
}

function listen(artifacts: ReadonlyMap<string, Buffer>): Promise<Server> {
  const server = createServer((request, response) => {
    const artifact = artifacts.get(request.url ?? '');
    response.writeHead(artifact === undefined ? 404 : 200).end(artifact);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

/** Listens on a free port of the loopback. */
export async function openArtifactServer(admin: AdminClient): Promise<ArtifactServer> {
  const artifacts = new Map<string, Buffer>();
  const server = await listen(artifacts);
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    async publish(repository, files) {
      const archive = await archiveOf(files);
      const digest = createHash('sha256').update(archive).digest('hex');
      const path = `/${digest}.tar.gz`;
      artifacts.set(path, archive);
      const revision = `main@sha1:${digest.slice(0, 40)}`;
      const url = `/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/${repository}`;
      const { body } = await admin.request({ method: 'GET', path: url });
      const observedGeneration = generation.parse(body).metadata.generation;
      const now = new Date().toISOString();
      const stored = { type: 'Ready', status: 'True', reason: 'Succeeded', message: 'stored' };
      const artifact = {
        ...{ digest: `sha256:${digest}`, path: path.slice(1), revision, url: `${origin}${path}` },
        ...{ lastUpdateTime: now, size: archive.length },
      };
      const conditions = [{ ...stored, lastTransitionTime: now, observedGeneration }];
      const status = { observedGeneration, artifact, conditions };
      await admin.request({ method: 'PATCH', path: `${url}/status`, body: { status } });
      return revision;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
