/// Makes the `Debug` form of errors their message, which is what a program shows whose `main` ends
/// with `?`.
#[macro_export]
macro_rules! debug_is_message {
    ($($error:ty),+ $(,)?) => {$(
        impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }
    )+};
}
