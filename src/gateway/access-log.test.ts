import { EventEmitter } from 'node:events';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { AccessLogType } from '../../proto/gen/envoy/access_log_pb.js';
import { StreamAccessLogsMessageSchema } from '../../proto/gen/envoy/access_log_service_pb.js';
import { accessLogService } from './access-log.ts';

/** Returns the calls that these log entries make to the picker. */
function told(message: MessageInitShape<typeof StreamAccessLogsMessageSchema>): readonly unknown[] {
  const said: unknown[] = [];
  const { handlers } = accessLogService({
    onEnd: ({ id, status }) => said.push({ type: 'end', id, status }),
    onProgress: (request) => said.push({ type: 'progress', ...request }),
    onClose: (connection) => said.push({ type: 'close', ...connection }),
  });
  const stream = new EventEmitter();
  (handlers['StreamAccessLogs'] as (stream: EventEmitter) => void)(stream);
  stream.emit('data', create(StreamAccessLogsMessageSchema, message));
  return said;
}

const properties = { metadata: { filterMetadata: { 'gpurental.dev': { id: 'ours' } } } };
const entry = (commonProperties: object) => ({
  logEntries: {
    case: 'httpLogs' as const,
    value: { logEntry: [{ commonProperties, response: { responseCode: 200 } }] },
  },
});
const lasting = (more: object) =>
  entry({ ...properties, ...more, accessLogType: AccessLogType.DownstreamPeriodic });
const second = { seconds: 1n };

test('an entry is the end of its request', () => {
  expect(told(entry(properties))).toEqual([{ type: 'end', id: 'ours', status: 200 }]);
});

test.each([
  ['its body arrives', {}, true],
  ['its body has arrived', { timeToLastRxByte: second }, false],
  ['its response has begun', { timeToFirstDownstreamTxByte: second }, false],
])('A6: an entry of a request that lasts is no end, and says that %s', (_, more, isArriving) => {
  expect(told(lasting(more))).toEqual([{ type: 'progress', id: 'ours', isArriving }]);
});

test('an entry of a connection is its close', () => {
  const address = { case: 'socketAddress' as const, value: { address: '203.0.113.9' } };
  const value = { ...address.value, portSpecifier: { case: 'portValue' as const, value: 4711 } };
  const commonProperties = {
    downstreamRemoteAddress: { address: { ...address, value } },
    startTime: { seconds: 7n, nanos: 5 },
  };
  expect(told({ logEntries: { case: 'tcpLogs', value: { logEntry: [{ commonProperties }] } } })).toEqual([
    { type: 'close', place: '203.0.113.9:4711', start: '7.000000005' },
  ]);
});
