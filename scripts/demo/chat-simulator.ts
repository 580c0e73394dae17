/**
 * A process of `make demo-gateway`: a simulated marketplace whose machines boot for as many seconds as its argument says,
 * and are language models then. By itself, so that its work takes no time from the clients.
 */
import { createSimulator } from '../../src/simulator/simulator.ts';
import { chatWorker, TOKEN_MS } from './chat-worker.ts';

/** Container port of `http` in the sample. */
const WORKER_PORT = '8000/tcp';
const OFFERS = 8;
/** Share of the boot for provisioning; the rest is the pull of the image. */
const PROVISION_SHARE = 0.2;
/** A machine that was stopped has its image. */
const START_SHARE = 0.1;

const bootSeconds = Number(process.argv[2]);
const pullSeconds = bootSeconds * (1 - PROVISION_SHARE);
const listener = chatWorker({ tokenMs: TOKEN_MS });
const simulator = createSimulator({
  control: true,
  seed: 42,
  catalog: Array.from({ length: OFFERS }, (_, at) => ({ pricePerHour: 0.4 + at / 100 })),
  settings: {
    boot: {
      provisionSeconds: bootSeconds * PROVISION_SHARE,
      pullSeconds: [pullSeconds, pullSeconds],
      startSeconds: bootSeconds * START_SHARE,
    },
    pauses: { scale: 0 },
  },
  machineServer: ({ containerPort }) => (containerPort === WORKER_PORT ? listener : undefined),
});
const { url, close } = await simulator.listen(0);
process.once('SIGTERM', () => void close().then(() => process.exit(0)));
process.stdout.write(`${JSON.stringify({ url, apiKey: simulator.apiKey, control: `${url}/sim` })}\n`);
