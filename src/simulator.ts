/**
 * The public module of the simulator, exported as `gpu-rental-operator/simulator`. All other modules may change without
 * notice.
 */
export type { Clock } from './lib/clock.ts';
export type { Random } from './lib/random.ts';
export {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from './lib/transport.ts';
export type { ControlRequest } from './simulator/addresses.ts';
export type { Certificate, Listening, ListenOptions } from './simulator/http-server.ts';
export type { MachineHttp, MachinePort, MachineShell } from './simulator/instances/machine-servers.ts';
export type { RunOptions } from './simulator/machines/run-machines.ts';
export type { Profile, Settings, SettingsOverride } from './simulator/settings.ts';
export { createSimulator, type Simulator, type SimulatorOptions } from './simulator/simulator.ts';
export type { OfferSketch } from './simulator/supply/catalog.ts';
export type { RowOf, TableName, Tables, World } from './simulator/world/world.ts';
export { openWorldFile, type WorldFile } from './simulator/world/world-file.ts';
export type { WorldStore, WorldWriter } from './simulator/world/world-store.ts';
