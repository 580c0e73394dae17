import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { type ChannelCredentials, Client, credentials } from '@grpc/grpc-js';
import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
} from '../../proto/gen/grpc/health_pb.js';

/** Resolves to what a server on loopback says of a service: `SERVING`, or the number of the error. */
export async function healthOf(
  port: number | string,
  service: string,
  channel: ChannelCredentials = credentials.createInsecure(),
): Promise<string> {
  const client = new Client(`localhost:${port}`, channel);
  const health = await new Promise<string>((resolve) => {
    client.makeUnaryRequest(
      '/grpc.health.v1.Health/Check',
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes) => fromBinary(HealthCheckResponseSchema, bytes).status,
      toBinary(HealthCheckRequestSchema, { $typeName: 'grpc.health.v1.HealthCheckRequest', service }),
      (error, status) =>
        resolve(error ? String(error.code) : (HealthCheckResponse_ServingStatus[status ?? 0] ?? '')),
    );
  });
  client.close();
  return health;
}
