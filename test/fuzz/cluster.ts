import type { ClusterSession } from '../../src/cli/sessions/cluster-session.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { TransportError, type TransportResponse } from '../../src/lib/transport.ts';
import { createKubeClient, type KubeClient } from '../../src/runtime/kube/kube-client.ts';
import { noCredentials } from '../builders/no-credentials.ts';
import { chunksOf } from './chunks.ts';
import { replyOf } from './http-text.ts';

const DEADLINE_MS = 600_000;
const MAX_ANSWERS = 40;

/** A clock on which every rest is over at once, and no deadline ever passes. */
const impatientClock: Clock = {
  now: () => 1_767_614_400_000,
  monotonic: () => 0,
  setTimer(delayMs, run) {
    if (delayMs < 60_000) queueMicrotask(run);
    return { cancel() {} };
  },
};

/** Returns the production client with an API server whose every response is this text ({@link replyOf}). */
export function answeringCluster(text: string): {
  readonly client: KubeClient;
  readonly session: ClusterSession;
} {
  let answers = 0;
  const answer = async (): Promise<TransportResponse> => {
    answers += 1;
    // A list whose every page names another would be read without end.
    if (answers > MAX_ANSWERS) throw new TransportError('no more answers', { sent: true });
    const { status, headers, body } = replyOf(text);
    return { status, headers, body: chunksOf(body), destroy() {} };
  };
  const origin = 'https://127.0.0.1:6443';
  const client = createKubeClient({
    transport: answer,
    origin,
    credentials: noCredentials,
    clock: impatientClock,
    random: seededRandom(1),
    log: silentLogger,
    deadlineMs: DEADLINE_MS,
  });
  const session = {
    kube: client,
    origin,
    namespace: 'team',
    namedNamespace: 'team',
    scope: 'team',
    operatorNamespace: 'operator',
    credentials: noCredentials,
    get: answer,
  };
  return { client, session };
}
