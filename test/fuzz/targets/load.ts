import {
  pullPlan,
  type ReadReply,
  readJsonReply,
  readPrometheusReply,
} from '../../../src/controllers/endpoint-group/load/http-pull.ts';
import { sampledValue } from '../../../src/controllers/endpoint-group/load/prometheus.ts';
import { readPushed } from '../../../src/controllers/endpoint-group/load/push.ts';
import { FigureError, type LoadRecord } from '../../../src/controllers/endpoint-group/load/state.ts';
import { type FuzzTarget, json, refusing, sane } from '../target.ts';

function amountsIn(arrived: LoadRecord['arrived']): readonly number[] {
  switch (arrived.type) {
    case 'rate':
      return [arrived.load];
    case 'amount':
      return [arrived.newLoad, arrived.rejectedLoad];
    case 'counter':
      return [...arrived.series.values()];
  }
}

function saneRecord({ arrived, currentLoad, waitingLoad, maxPerf, inFlight, error }: LoadRecord): void {
  for (const figure of [...amountsIn(arrived), currentLoad, waitingLoad, maxPerf, inFlight]) sane(figure);
  if (error.length > 256) throw new Error('an error text without bound');
}

const fullPull = (preset: 'Pyworker' | 'VLLM') => ({ preset }) as Parameters<typeof pullPlan>[0] & object;
const reading = (read: ReadReply, preset: 'Pyworker' | 'VLLM') =>
  refusing([FigureError], (text) => {
    saneRecord(read(text, pullPlan(fullPull(preset)), 0));
  });

const WORKER_REPORT = JSON.stringify({
  id: 1,
  new_load: 12.5,
  rej_load: 0,
  cur_load: 3,
  max_perf: 100,
  num_requests_working: 2,
  error_msg: 'none',
  wake: { cost: 5 },
});

const PROMETHEUS_TEXT = `# HELP vllm:generation_tokens_total Tokens.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model="m",engine="0"} 1234.0
vllm:num_requests_waiting{model="m"} 2
vllm:num_requests_running 3 -1
vllm:request_success_total{reason="stop"} 1e2
`;

/** Targets that parse load reports of workers and Prometheus. */
export const LOAD_TARGETS: readonly FuzzTarget[] = [
  {
    name: 'worker-report',
    seeds: [WORKER_REPORT, '{"cur_load":2}'],
    run: refusing(
      [FigureError],
      json((value) => {
        const { record, wakeCost } = readPushed(value);
        saneRecord(record);
        sane(wakeCost);
      }),
    ),
  },
  { name: 'worker-reply', seeds: [WORKER_REPORT], run: reading(readJsonReply, 'Pyworker') },
  { name: 'prometheus-text', seeds: [PROMETHEUS_TEXT], run: reading(readPrometheusReply, 'VLLM') },
  {
    name: 'prometheus-query',
    seeds: [
      '{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1435781451.781,"1.5"]}]}}',
      '{"status":"success","data":{"resultType":"scalar","result":[1435781451.781,"1"]}}',
    ],
    run: refusing([FigureError], (text) => {
      sane(sampledValue('load', text, 1_435_781_451_781));
    }),
  },
];
