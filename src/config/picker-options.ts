import * as z from 'zod';
import type { OptionSpec, ParsedOptions } from './options.ts';
import { OPTIONS } from './options.ts';
import {
  booleanValue,
  durationValue,
  groupValue,
  httpUrl,
  memoryValue,
  socketAddress,
  wholeNumber,
} from './values.ts';

const { kubeconfig, context, watchNamespace, logLevel } = OPTIONS;

const path = z.string().min(1, 'write the path of a file');

/** All settings of `gpu-rent endpoint-picker`: flag, environment variable, help and validation derive from them. */
export const PICKER_OPTIONS = {
  kubeconfig,
  context,
  watchNamespace: {
    ...watchNamespace,
    description: 'namespace whose groups are served, repeatable; every namespace if absent',
  },
  bindAddress: {
    value: socketAddress,
    placeholder: 'address',
    description:
      'address of the gRPC services that Envoy calls (ext_proc, discovery, access log); they require no password, so only Envoy must be able to reach it',
    defaultValue: '127.0.0.1:9002',
  },
  group: {
    value: groupValue,
    placeholder: 'namespace/name',
    description:
      'serve this group alone, as the endpoint picker of an InferencePool of the Gateway API: its proxies call --bind-address, and this process uses no Envoy',
  },
  tlsDirectory: {
    value: path,
    placeholder: 'path',
    description:
      'folder with tls.crt and tls.key, as of a Secret of type kubernetes.io/tls, by which --bind-address is served with TLS; read at the start; for --group',
  },
  metricsBindAddress: {
    ...OPTIONS.metricsBindAddress,
    description: 'address of /metrics, /healthz and /readyz, or 0 for none',
    defaultValue: ':9090',
  },
  operatorUrl: {
    value: httpUrl,
    placeholder: 'url',
    description:
      'address where the operator receives reports (its --metrics-bind-address and --gateway-reports); the token for the API server goes with them; none are sent if absent',
  },
  envoy: {
    value: path,
    placeholder: 'path',
    description: 'Envoy binary to run and to restart when it ends; without it Envoy runs elsewhere',
  },
  listenAddress: {
    value: socketAddress,
    placeholder: 'address',
    description: 'address that clients call; for --envoy and --print-envoy-config',
    defaultValue: '127.0.0.1:8000',
  },
  printEnvoyConfig: {
    value: booleanValue,
    placeholder: 'true|false',
    description: 'print the bootstrap configuration of Envoy for these addresses, and end: `envoy -c FILE`',
    defaultValue: 'false',
  },
  pickerAddress: {
    value: socketAddress,
    placeholder: 'address',
    description:
      'name or IP address, and port, by which an Envoy on another machine reaches --bind-address; for --print-envoy-config',
  },
  envoyAdminSocket: {
    value: path,
    placeholder: 'path',
    description:
      'Unix socket for the admin interface of an Envoy that runs elsewhere, for --print-envoy-config and to ask that Envoy to close its connections before this process ends; not with --envoy, whose own socket this process alone reaches',
  },
  envoyMaxHeap: {
    value: memoryValue(64, 65_536),
    placeholder: 'size',
    description:
      'heap at which Envoy has refused new requests, closed idle connections and reset the streams with the largest buffers; for --envoy and --print-envoy-config. Keep it at three quarters of the memory limit of Envoy',
    defaultValue: '384Mi',
  },
  maxHeldMemory: {
    value: memoryValue(1, 65_536),
    placeholder: 'size',
    description:
      'memory of Envoy and picker that requests of all groups may use while they wait, at 64 KiB each and up to 128 KiB of its body; above it, requests of the group that uses most are refused. Keep it at two thirds of --envoy-max-heap',
    defaultValue: '256Mi',
  },
  clientIdleTimeout: {
    value: durationValue(1_000, 3_600_000),
    placeholder: 'duration',
    description:
      'idle time after which Envoy closes a connection of a client; for --envoy and --print-envoy-config. Keep it above the one of a load balancer in front',
    defaultValue: '5m',
  },
  bodyTimeout: {
    value: durationValue(10_000, 3_600_000),
    placeholder: 'duration',
    description:
      'time from the pick of a worker to the end of the body of a request, unless the worker answers before; looked at every 15 s, and not with --group',
    defaultValue: '10m',
  },
  trustedHops: {
    value: wholeNumber(0, 8),
    placeholder: 'count',
    description:
      'proxies in front of the gateway that append to x-forwarded-for, which says the addresses of clients without keys; with --group, those in front of the proxy that calls',
    defaultValue: '0',
  },
  allowPrivateAddresses: {
    ...OPTIONS.allowPrivateAddresses,
    description: 'accept workers at private addresses too, as the operator does with the same flag',
  },
  addressMap: {
    ...OPTIONS.addressMap,
    description: 'where Envoy dials for addresses of simulated machines, repeatable',
  },
  drainDelay: {
    value: durationValue(0, 600_000),
    placeholder: 'duration',
    description:
      'how long new requests are accepted after SIGTERM, so that load balancers notice it by /readyz or the endpoints of a Service',
    defaultValue: '5s',
  },
  shutdownGrace: {
    value: durationValue(0, 3_600_000),
    placeholder: 'duration',
    description: 'how long requests that wait or are served may go on after SIGTERM, --drain-delay included',
    defaultValue: '10m',
  },
  logLevel,
} satisfies Record<string, OptionSpec>;

/** The validated settings of a picker. Durations are milliseconds. */
export type PickerConfig = ParsedOptions<typeof PICKER_OPTIONS>;
