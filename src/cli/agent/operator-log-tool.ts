import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { Random } from '../../lib/random.ts';
import { LOG_PATH } from '../../reach/log-stream.ts';
import { type LogAddress, openLogs } from '../logs/log-address.ts';
import { logCredentials } from '../logs/log-token.ts';
import { lastLines, readOperatorLog } from '../logs/operator-log.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { type Answer, refusal } from './contract.ts';
import { finishedLog, shownLog } from './log-answers.ts';
import { messageText } from './text.ts';

interface Means {
  readonly cluster: ClusterSession;
  readonly address: LogAddress;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** Returns the end of a log that the operator serves, without the marketplace key. Rejects if the operator does not answer. */
export async function operatorLogAnswer(
  object: GpuInstance,
  tailLines: number,
  { cluster, address, random, signal }: Means,
): Promise<Answer> {
  const { name } = object.metadata;
  const { open, close } = await openLogs(address, await logCredentials({}, cluster));
  try {
    const answer = await readOperatorLog(open, `${LOG_PATH}/${cluster.namespace}/${name}`, signal);
    if (answer.type === 'text')
      return shownLog(object, { log: lastLines(answer.text, tailLines), part: 'The end' }, random);
    if (answer.type === 'finished') return finishedLog(object, random);
    const isRight = answer.status === 401 || answer.status === 403;
    const message = messageText(`The operator sent no log: ${answer.message}`);
    if (isRight) return refusal('NotPermitted', message);
    return refusal('NoLog', message, {
      nextAction: { tool: 'status', arguments: { name, waitSeconds: 30 } },
      retryAfterSeconds: 30,
    });
  } finally {
    await close();
  }
}
