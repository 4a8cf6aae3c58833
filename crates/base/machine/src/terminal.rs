//! The terminal of standard output.

/// The width of the terminal in columns; `None` where standard output is no terminal.
pub fn columns() -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the call writes a `winsize` there, if standard output is a terminal.
    let outcome = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (outcome == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
}
