<!doctype html>
<html <?php language_attributes(); ?>>
<head>
<meta charset="<?php bloginfo('charset'); ?>">
<title><?php bloginfo('name'); ?></title>
<?php wp_head(); ?>
</head>
<body <?php body_class(); ?>>
<h1><a href="<?php echo esc_url(home_url('/')); ?>"><?php bloginfo('name'); ?></a></h1>
<?php while (have_posts()) : the_post(); ?>
<article id="post-<?php the_ID(); ?>">
<h2><?php the_title(); ?></h2>
<p><?php the_date(); ?>, <?php the_author(); ?>, <?php the_category(', '); ?></p>
<?php the_content(); ?>
</article>
<?php endwhile; ?>
<ul>
<?php wp_get_archives(['type' => 'monthly']); ?>
<?php wp_list_categories(['title_li' => '']); ?>
</ul>
<?php wp_footer(); ?>
</body>
</html>
