//! Error handlers. (A placeholder until the work on objects lands.)

/// To be completed.
pub struct Errhandler {}
