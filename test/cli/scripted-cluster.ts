import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type CommandLine, commandLine } from './command-line.ts';

/** Request that the API server receives. */
export interface AskedCluster {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Query with its question mark; empty if there is none. */
  readonly query: string;
  /** Names in lower case; each value of a repeated one. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: unknown;
}

/** Response of the API server. */
export interface ClusterAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** An API server on loopback that answers as a test says, and a person whose kubeconfig leads to it. */
export interface ScriptedCluster {
  readonly cli: CommandLine;
  readonly url: string;
  /** All requests so far. */
  readonly asked: AskedCluster[];
  answer: (asked: AskedCluster) => ClusterAnswer | Promise<ClusterAnswer>;
  close(): void;
}

/** `env`: what every command line of that person finds in the environment. */
export async function scriptedCluster(env: Readonly<Record<string, string>> = {}): Promise<ScriptedCluster> {
  const asked: AskedCluster[] = [];
  const server = createServer(async (request, response) => {
    const sent = await text(request);
    const { pathname, search } = new URL(request.url ?? '/', 'http://cluster');
    const question = {
      method: request.method ?? '',
      path: pathname,
      query: search,
      headers: Object.fromEntries(
        Object.entries(request.headersDistinct).map(([name, values = []]) => [name, values]),
      ),
      body: sent === '' ? undefined : JSON.parse(sent),
    };
    asked.push(question);
    const { status, body } = await cluster.answer(question);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cli = personAt(url, env);
  const cluster: ScriptedCluster = {
    ...{ cli, url },
    asked,
    answer: () => refused(404, 'NotFound'),
    close() {
      server.closeAllConnections();
      server.close();
      cli.leave();
    },
  };
  return cluster;
}

/** Returns a refusal in the API server's words. */
export function refused(code: number, reason: string, message?: string): ClusterAnswer {
  return { status: code, body: { kind: 'Status', status: 'Failure', code, reason, message } };
}

function personAt(server: string, env: Readonly<Record<string, string>>): CommandLine {
  const folder = mkdtempSync(join(tmpdir(), 'gpu-rent-cluster-'));
  const path = join(folder, 'kubeconfig');
  const name = 'scripted';
  const kubeconfig = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [{ name, cluster: { server } }],
    users: [{ name, user: { token: 'none' } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: 'team' } }],
  };
  writeFileSync(path, JSON.stringify(kubeconfig));
  const cli = commandLine({ KUBECONFIG: path, ...env });
  return {
    ...cli,
    leave() {
      cli.leave();
      rmSync(folder, { recursive: true });
    },
  };
}
