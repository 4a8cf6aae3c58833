//! The numbers of PMIx: of commands, of scopes and of the types of values.

/// Asks for the data of the job.
pub const REQUEST: u8 = 0;
/// Ends the job.
pub const ABORT: u8 = 1;
/// Stores values.
pub const COMMIT: u8 = 2;
/// Waits for all.
pub const FENCE: u8 = 3;
/// Asks for the values of a process.
pub const GET: u8 = 4;
/// Says good-bye.
pub const FINALIZE: u8 = 5;

/// Values for processes of the same node.
pub const SCOPE_LOCAL: u8 = 1;
/// Values for processes of other nodes.
pub const SCOPE_REMOTE: u8 = 2;

/// No value.
pub const UNDEFINED: u16 = 0;
/// True or false, in a byte.
pub const BOOL: u16 = 1;
/// A byte.
pub const BYTE: u16 = 2;
/// A string.
pub const STRING: u16 = 3;
/// A `size_t`, behind the type that it has on its machine.
pub const SIZE: u16 = 4;
/// A process id, in the same way.
pub const PID: u16 = 5;
/// An `int`, in the same way.
pub const INT: u16 = 6;
/// A number of one byte.
pub const INT8: u16 = 7;
/// A number of two bytes.
pub const INT16: u16 = 8;
/// A number of four bytes.
pub const INT32: u16 = 9;
/// A number of eight bytes.
pub const INT64: u16 = 10;
/// An `unsigned`, behind the type that it has on its machine.
pub const UINT: u16 = 11;
/// A number of one byte.
pub const UINT8: u16 = 12;
/// A number of two bytes.
pub const UINT16: u16 = 13;
/// A number of four bytes.
pub const UINT32: u16 = 14;
/// A number of eight bytes.
pub const UINT64: u16 = 15;
/// A number as a string.
pub const FLOAT: u16 = 16;
/// A number as a string.
pub const DOUBLE: u16 = 17;
/// Seconds and microseconds, eight bytes each.
pub const TIMEVAL: u16 = 18;
/// Seconds, in eight bytes.
pub const TIME: u16 = 19;
/// A status, in four bytes.
pub const STATUS: u16 = 20;
/// A value behind its type.
pub const VALUE: u16 = 21;
/// A namespace and a rank.
pub const PROCESS: u16 = 22;
/// A name, a word of flags and a value behind its type.
pub const INFO: u16 = 24;
/// A process, a name and a value behind its type.
pub const PUBLISHED: u16 = 25;
/// Items within an item.
pub const BUFFER: u16 = 26;
/// A length and bytes.
pub const OBJECT: u16 = 27;
/// A name and a value behind its type.
pub const PAIR: u16 = 28;
/// The first of several types of one byte: persistence, pointer, scope, range, command.
pub const PERSISTENCE: u16 = 30;
/// The last of them.
pub const COMMAND: u16 = 34;
/// A word of flags.
pub const DIRECTIVES: u16 = 35;
/// The number of a type.
pub const TYPE: u16 = 36;
/// The state of a process, in a byte.
pub const PROCESS_STATE: u16 = 37;
/// An array: the type of its elements, their number, the elements.
pub const ARRAY: u16 = 39;
/// A rank, in four bytes.
pub const RANK: u16 = 40;
/// A string that is compressed: a length and bytes.
pub const COMPRESSED: u16 = 42;
/// A byte.
pub const ALLOCATION: u16 = 43;
/// A number of infos.
pub const INFO_ARRAY: u16 = 44;
/// Two bytes.
pub const CHANNEL: u16 = 45;
/// A name, a value and a separator.
pub const VARIABLE: u16 = 46;
